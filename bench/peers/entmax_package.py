"""Sparsemax and 1.5-entmax of the entmax package: weights of rows of normal logits."""

import argparse

import torch
from entmax import entmax15, entmax_bisect, sparsemax
from measure import best_of, report

NORMALIZERS = {
    "sparsemax": lambda x: sparsemax(x, dim=-1),
    "entmax": lambda x: entmax15(x, dim=-1),
    "entmax:alpha=1.25": lambda x: entmax_bisect(x, alpha=1.25, dim=-1),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--spread", type=float, default=2.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    logits = args.spread * torch.randn(args.rows, args.length)
    each = {}
    with torch.no_grad():
        for name, normalizer in NORMALIZERS.items():
            seconds = best_of(args.runs, lambda normalizer=normalizer: normalizer(logits))
            each[name] = 1e9 * seconds / logits.numel()
    report(name="entmax_package", length=args.length, ns_per_weight=each)


if __name__ == "__main__":
    main()
