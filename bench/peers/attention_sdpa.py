"""torch's scaled_dot_product_attention on made heads of d = 64, float32, causal."""

import argparse
import json

import torch
from measure import best_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--length", type=int, default=16384)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    q, k, v = torch.randn(3, 1, args.heads, args.length, 64).unbind()

    def run() -> object:
        with torch.no_grad():
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    print(json.dumps({"length": args.length, "heads": args.heads, "seconds": best_of(args.runs, run)}))


if __name__ == "__main__":
    main()
