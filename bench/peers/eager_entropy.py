"""Hugging Face eager attention with output_attentions=True, and the entropy of every row."""

import torch
from measure import arguments, best_of, load, read_tokens, report


def main() -> None:
    args = arguments(__doc__).parse_args()
    torch.set_num_threads(args.threads)
    model = load(args.model, "eager")
    ids = read_tokens(args.tokens, args.length)

    def run() -> list[torch.Tensor]:
        with torch.no_grad():
            attentions = model(ids, output_attentions=True).attentions
            # layers x (1, heads, L, L) -> mean entropy of each head
            return [-(a * torch.log(a + 1e-12)).sum(-1).mean(-1) for a in attentions]

    report(name="eager_entropy", length=args.length, seconds=best_of(args.runs, run))


if __name__ == "__main__":
    main()
