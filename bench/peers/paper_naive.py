"""Paper A's five algorithms the straightforward way, on a few heads, scaled to all of them.

1 distances as L grows, 2 distances as N grows, 3 critical N, 4 separability, 5 sensitivity: loops
over query rows, tensor operations within a row, as one writes them from the paper's text.
"""

import math

import torch
from measure import arguments, best_of, load, read_tokens, report

TOP_N = (1, 5, 10, 20, 100)
LENGTHS = (32, 64, 128, 256, 512, 1024)
TEMPERATURES = [10 ** (-2 + 0.1 * i) for i in range(31)]
EPSILONS = (1e-3, 1e-1, 10.0)


def selected(a: torch.Tensor, x: torch.Tensor, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The top-n set of a row as a mask, and its context vector s."""
    mask = torch.zeros_like(a, dtype=torch.bool)
    mask[torch.topk(a, n).indices] = True
    return mask, (a[mask, None] * x[mask]).sum(0)


def distance(a: torch.Tensor, x: torch.Tensor, n: int) -> tuple[float, float, float]:
    """Distance, its bound, and the expected distance of a row."""
    mask, s = selected(a, x, n)
    out = ~mask
    d = (a[out, None] * x[out] - s).norm(dim=1).sum()
    mass = a[mask].sum()
    d1 = torch.cdist(x[out], x[mask]).max()
    bound = (1 - mass) * d1 + x[mask].norm(dim=1).max() * (mass * out.sum() - (1 - mass))
    k = n / (len(a) - 1)
    y = (a[:, None] * x).sum(0)
    expected = (1 - n / len(a)) * ((a + k)[:, None] * x - y).norm(dim=1).sum()
    return float(d), float(bound), float(expected)


def separability(a: torch.Tensor, x: torch.Tensor, n: int) -> float:
    mask, s = selected(a, x, n)
    d = (a[:, None] * x - s).norm(dim=1)
    return float((d[mask] < d[~mask].min()).float().mean())


def sensitivity(logits: torch.Tensor) -> None:
    v = torch.randn_like(logits)
    v /= v.norm()
    for t in TEMPERATURES:
        base = torch.softmax(logits / t, 0)
        for eps in EPSILONS:
            ((torch.softmax((logits + eps * v) / t, 0) - base).norm() / eps).item()


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--heads", type=int, default=1, help="heads to time")
    parser.add_argument("--stride", type=int, default=32, help="time every so many-th row")
    parser.add_argument("--critical-max", type=int, default=100)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model = load(args.model, "eager")
    ids = read_tokens(args.tokens, args.length)
    config = model.config
    with torch.no_grad():
        attention = model(ids, output_attentions=True).attentions[0][0]
        x = model.transformer.wte(ids)[0]

    def rows(length: int) -> range:
        return range(args.stride - 1, length, args.stride)

    def each_row(length: int, sizes: tuple[int, ...], body) -> None:
        for head in range(args.heads):
            for t in rows(length):
                a, xs = attention[head, t, : t + 1], x[: t + 1]
                for n in sizes:
                    if t + 1 > n:
                        body(a, xs, n)

    def all_lengths() -> None:
        for length in LENGTHS:
            if length <= args.length:
                each_row(length, (5,), distance)

    algorithms = {
        "growing_l": all_lengths,
        "growing_n": lambda: each_row(args.length, TOP_N, distance),
        "critical_n": lambda: each_row(args.length, tuple(range(1, args.critical_max + 1)), distance),
        "separability": lambda: each_row(args.length, TOP_N, separability),
        "sensitivity": lambda: [
            sensitivity(torch.log(attention[h, t, : t + 1] + 1e-30))
            for h in range(args.heads)
            for t in rows(args.length)
        ],
    }
    scale = config.n_layer * config.n_head / args.heads * args.stride
    with torch.no_grad():
        seconds = {name: best_of(1, body) * scale for name, body in algorithms.items()}
    total = math.fsum(seconds.values())
    report(name="paper_naive", length=args.length, seconds=total, scaled_by=scale, each=seconds)


if __name__ == "__main__":
    main()
