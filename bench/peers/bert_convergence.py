"""Paper B's experiment on BERT the straightforward way, as its public code goes about it: every
subsample of the layer's inputs is projected, attended to and summed up by itself; the covariance is
that of the whole layer's output. In float32, or with attention in float16.
"""

import time

import numpy as np
import torch
from measure import arguments, read_tokens, report
from transformers import BertModel


def attention_moments(
    layer: torch.nn.Module, inputs: torch.Tensor, heads: int, half: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and covariance of the outputs of all heads, side by side, over the tokens."""
    n, width = inputs.shape
    parts = [part(inputs) for part in (layer.query, layer.key, layer.value)]
    if half:
        parts = [part.half() for part in parts]
    q, k, v = (part.view(n, heads, -1).transpose(0, 1) for part in parts)
    scores = q @ k.transpose(1, 2) / (width // heads) ** 0.5
    weights = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    outputs = weights @ v / weights.sum(dim=-1, keepdim=True)
    outputs = outputs.transpose(0, 1).reshape(n, width).float()
    mean = outputs.mean(dim=0)
    return mean, outputs.T @ outputs / n - torch.outer(mean, mean)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--half", action="store_true", help="attention in float16")
    parser.add_argument("--replicates", type=int, default=500)
    parser.add_argument("--timed", type=int, default=500, help="replicates that are run")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model = BertModel.from_pretrained(args.model, add_pooling_layer=False).eval()
    layer, heads = model.encoder.layer[0].attention.self, model.config.num_attention_heads
    ids = read_tokens(args.tokens, args.length)
    grid = np.geomspace(args.length // 8, args.length * 3 // 4, 10).astype(int)
    with torch.no_grad():
        inputs = model.embeddings(ids)[0]
        reference = attention_moments(layer, inputs, heads, args.half)
        errors = []
        start = time.perf_counter()
        for n in grid:
            found = []
            for _ in range(args.timed):
                chosen = inputs[torch.randint(args.length, (int(n),))]
                mean, covariance = attention_moments(layer, chosen, heads, args.half)
                found.append([float((mean - reference[0]).norm()), float((covariance - reference[1]).norm())])
            errors.append(np.mean(found, axis=0))
        seconds = time.perf_counter() - start
    slopes = np.polyfit(np.log(grid), np.log(np.array(errors)), 1)[0]
    scale = args.replicates / args.timed
    report(
        name="bert_convergence",
        length=args.length,
        seconds=seconds * scale,
        scaled_by=scale,
        half=args.half,
        rate_mean=-slopes[0],
        rate_covariance=-slopes[1],
    )


if __name__ == "__main__":
    main()
