"""The forward pass alone: sdpa, float32, logits and loss."""

import torch
from measure import arguments, best_of, load, read_tokens, report


def main() -> None:
    args = arguments(__doc__).parse_args()
    torch.set_num_threads(args.threads)
    model = load(args.model, "sdpa")
    ids = read_tokens(args.tokens, args.length)

    def run() -> float:
        with torch.no_grad():
            return float(model(ids, labels=ids).loss)

    report(name="forward_sdpa", length=args.length, seconds=best_of(args.runs, run), loss=run())


if __name__ == "__main__":
    main()
