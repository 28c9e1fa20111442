# Written by tools/python_stubs.py from the declarations of the options.
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

from headgauge._own import Measure, Normalizer, Pattern
from headgauge.results import Results

Progress: TypeAlias = Callable[[str, float, float], None] | bool
TextOrIds: TypeAlias = Any

def merge(
    folders: Iterable[str | os.PathLike[str]],
    *,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> Results:
    """Joins what `headgauge scan --shard I/N` (and compare, converge, validate) left in these folders, their
    --out: bit for bit what one run measures. The model and the texts are where they were. `force` replaces
    finished results of another request in `out`."""
    ...

def scan(
    model: Any,
    text_or_ids: TextOrIds = None,
    *,
    inputs: Any = None,
    attention: str = 'self',
    progress: Progress | None = None,
    executor: Any = None,
    x: Literal['embedding', 'hidden', 'value'] | None = None,
    lengths: int | Sequence[int] | str | None = None,
    layers: str | Sequence[int | str] | None = None,
    heads: str | Sequence[int | str | tuple[int, int]] | None = None,
    top_n: int | Sequence[int] | str | None = None,
    beyond_sinks: bool | None = None,
    top_share: float | Sequence[float] | str | None = None,
    measures: str | Measure | Sequence[str | Measure] | None = None,
    queries: int | Literal['all'] | None = None,
    examples: int | Literal['none'] | None = None,
    normalizer: str | Normalizer | Sequence[str | Normalizer] | None = None,
    pattern: str | Pattern | Sequence[str | Pattern] | None = None,
    direction: Literal['random', 'top2'] | None = None,
    temperatures: float | Sequence[float] | str | None = None,
    epsilons: float | Sequence[float] | str | None = None,
    critical_max: int | None = None,
    critical_level: float | None = None,
    unit_sphere: bool | None = None,
    expected_draws: int | None = None,
    threads: int | None = None,
    seed: int | None = None,
    plan: str | os.PathLike[str] | None = None,
    tasks: str | Sequence[str] | None = None,
    probe: str | Sequence[str] | None = None,
    cases: int | None = None,
    text: TextOrIds | None = None,
    tokens: TextOrIds | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool | None = None,
    shard: str | None = None,
) -> Results:
    """Measures every head of a model on a text, at every context length.

    `model` is the path or the name of a checkpoint, which the C++ forward pass runs, a dump, or a
    transformers PreTrainedModel, which is run as it is. `text_or_ids` is a str (the text itself), a
    path, token ids in one row, a list of such, or what a tokenizer gives: each row of a batch is a text, without
    its padding. A model that takes an image or a sound in place of ids is given `inputs` alone
    ({"pixel_values": ...}), and measured over the whole. Of an encoder-decoder `inputs` is what its encoder gets, as
    forward() takes it ({"input_ids": ...}, {"input_features": ...}), or a list of one for each text; the ids
    are the decoder's, whose self-attention is measured, or with attention="cross" that to the encoder: groups
    weights, sensitivity and model, of rows that see all of the encoder's text. `progress` is called with the stage, what is done
    and the total; progress=True shows them in a line on stderr. `executor`, a concurrent.futures executor, a Dask client or the module
    ray, has its workers measure shares of several texts, each with `threads=` of 1 unless it is given: the same
    results, bit for bit (docs/scale.md). The workers need the package, and the checkpoint at the same path.

    Raises UsageError, BadInputError, UnsupportedError, ResourceError (headgauge.errors), TypeError
    for an option that there is not.

    Options (None leaves one at its default):

    x: Literal['embedding', 'hidden', 'value']
        Vectors that distances are taken between: token embeddings (the default), hidden states that
        enter the layer, or values of the head.
    lengths: int | Sequence[int] | str
        Context lengths such as 32,64,128; auto, the default, doubles from 32 to 1024 as far as they
        fit. `auto` is limited by the text and by the model (with rotary positions: its trained
        context), and adds the text's own length if that is below 1024. You may give lengths beyond the
        trained context if positions are unlimited; a notice says so. Each of several texts must reach
        the longest given length; with `auto` a shorter text is measured up to its own length, as a
        notice says. A bidirectional model (BERT) is run once for each length (docs/models.md).
    layers: str | Sequence[int | str]
        Measure only these layers, such as 0-3,5. Weights of layers after the last of them are then
        neither read nor checked for NaN, unless the loss is measured, which needs all.
    heads: str | Sequence[int | str | tuple[int, int]]
        Measure only these heads, as layer.head: 3.5,7.*.
    top_n: int | Sequence[int] | str
        Sizes of the selected sets (default 1,5,10,20,100). A set omits at least one key: sizes from the
        longest length on are null, as a notice says.
    beyond_sinks: bool
        Measure distance, separability, coverage, proportion and dispersion as if the sinks of each head
        were hidden (default false). The heaviest keys of a head that rests on sinks are its sinks; the
        keys beyond them are what it selects. Sinks are found in each head; see docs/roles.md. The other
        groups have values of both kinds.
    top_share: float | Sequence[float] | str
        Shares of the keys, such as 0.01,0.1, for the group `proportion` (default: none, and no such
        group).
    measures: str | Measure | Sequence[str | Measure]
        Groups of metrics: weights, distance, separability, sensitivity, coverage, dispersion,
        counterfactual, model, proportion, roles, answers, logits (default: all that apply).
        `counterfactual` needs `pattern` or `normalizer`.
    queries: int | Literal['all']
        Rows measured in each position bin (default: all up to length 8192, else 64). They are drawn
        evenly. The model itself always runs over all rows.
    examples: int | Literal['none']
        Keep K characteristic queries of each head with the keys that they select, and their text
        (default: 6, if there are at most 16 texts). The head's page of the report shows them.
        results.json and the page then hold most of the text: `none` keeps it out. See docs/examples.md.
    normalizer: str | Normalizer | Sequence[str | Normalizer]
        Normalizer, which turns scores into weights (default softmax); headgauge list normalizers lists
        them. See docs/normalizers.md.
    pattern: str | Pattern | Sequence[str | Pattern]
        Keep only some keys of each query (default none); headgauge list patterns lists the patterns.
        The others are removed before the normalizer sees the row; `kept_mass` and `output_change` say
        what that costs. See docs/patterns.md.
    direction: Literal['random', 'top2']
        Direction of the step of the logits: random (the paper's, the default) or top2 (moves the two
        largest apart).
    temperatures: float | Sequence[float] | str
        Temperatures (default: 31 from 0.01 to 10). The default's are even in the logarithm.
    epsilons: float | Sequence[float] | str
        Sizes of the step of the logits (default 0.001,0.1,10).
    critical_max: int
        Largest N searched for critical N (default 128).
    critical_level: float
        Level of the tests for critical N (default 0.01).
    unit_sphere: bool
        Separability on vectors scaled to length 1, as the theorem assumes (default true).
    expected_draws: int
        Check the expected distance against this many random sets per row (default 0: off). Gives
        `expected_distance_sampled` and its error, docs/formats.md. The error of a single row is
        unreliable if one key dominates the row: look at means, or draw more.
    threads: int
        Number of threads (default: the number of cores). The results are the same bits for any number.
    seed: int
        Seed of every random draw (default 0).
    plan: str | os.PathLike[str]
        Run the model under this plan, which headgauge plan wrote. See docs/plan.md; a plan for another
        model is refused.
    tasks: str | Sequence[str]
        Task files, whose cases the model answers beside the text or without one. Each line is a case: a
        prompt and its answer. See docs/tasks.md.
    probe: str | Sequence[str]
        Tasks of headgauge task whose cases the run generates itself, as long as its longest length:
        replay, repeats .... The text of the run is the haystack. See docs/tasks.md.
    cases: int
        Largest number of cases of each task file, spread over the file (default 50), and number of
        cases of each probe (default 16).
    text: TextOrIds
        Texts, in place of `text_or_ids`.
    tokens: TextOrIds
        Token ids or files of them, in place of `text_or_ids`.
    out: str | os.PathLike[str]
        Folder for results.json and heads.csv, and for the journal of a run that is stopped: the same
        call continues it. Made if need be.
    force: bool
        Replaces finished results of another request in `out`, which are refused otherwise.
    shard: str
        "I/N" measures share I of N of the documents alone, into `out`, for merge()."""
    ...

def compare(
    model: Any,
    text_or_ids: TextOrIds = None,
    *,
    inputs: Any = None,
    progress: Progress | None = None,
    executor: Any = None,
    normalizer: str | Normalizer | Sequence[str | Normalizer] | None = None,
    pattern: str | Pattern | Sequence[str | Pattern] | None = None,
    each: Literal['head', 'layer'] | None = None,
    x: Literal['embedding', 'hidden', 'value'] | None = None,
    lengths: int | Sequence[int] | str | None = None,
    layers: str | Sequence[int | str] | None = None,
    heads: str | Sequence[int | str | tuple[int, int]] | None = None,
    top_n: int | Sequence[int] | str | None = None,
    beyond_sinks: bool | None = None,
    top_share: float | Sequence[float] | str | None = None,
    measures: str | Measure | Sequence[str | Measure] | None = None,
    queries: int | Literal['all'] | None = None,
    examples: int | Literal['none'] | None = None,
    direction: Literal['random', 'top2'] | None = None,
    temperatures: float | Sequence[float] | str | None = None,
    epsilons: float | Sequence[float] | str | None = None,
    critical_max: int | None = None,
    critical_level: float | None = None,
    unit_sphere: bool | None = None,
    expected_draws: int | None = None,
    threads: int | None = None,
    seed: int | None = None,
    plan: str | Sequence[str] | None = None,
    fit: TextOrIds | None = None,
    confirm: TextOrIds | None = None,
    tasks: str | Sequence[str] | None = None,
    probe: str | Sequence[str] | None = None,
    cases: int | None = None,
    text: TextOrIds | None = None,
    tokens: TextOrIds | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool | None = None,
    shard: str | None = None,
) -> Results:
    """Sets normalizers, patterns or a plan side by side with the model's own attention, the loss
    included. See scan() for what is not an option.

    Options (None leaves one at its default):

    normalizer: str | Normalizer | Sequence[str | Normalizer]
        The normalizers to compare with the model's own, such as ssmax:s=0.43,b=0,sparsemax; may be
        repeated; headgauge list normalizers lists them. docs/normalizers.md. A comma before `key=`
        continues the normalizer before it; any other comma begins the next:
        `ssmax:s=0.43,b=0,sparsemax` is two.
    pattern: str | Pattern | Sequence[str | Pattern]
        The patterns of keys to compare with the model's own, instead of normalizers; may be repeated;
        headgauge list patterns lists them. docs/patterns.md. Adds `kept_mass`, and says of each pattern
        whether the heads select better or merely see fewer keys.
    each: Literal['head', 'layer']
        Change one head (or one layer) at a time, instead of all at once. `loss`, `loss_change` and `kl`
        are then those of the model with that one changed. The metrics of a head are those under its
        change; metrics of several heads together are left out.
    x: Literal['embedding', 'hidden', 'value']
        Vectors that distances are taken between: token embeddings (the default), hidden states that
        enter the layer, or values of the head.
    lengths: int | Sequence[int] | str
        Context lengths such as 32,64,128; auto, the default, doubles from 32 to 1024 as far as they
        fit. `auto` is limited by the text and by the model (with rotary positions: its trained
        context), and adds the text's own length if that is below 1024. You may give lengths beyond the
        trained context if positions are unlimited; a notice says so. Each of several texts must reach
        the longest given length; with `auto` a shorter text is measured up to its own length, as a
        notice says. A bidirectional model (BERT) is run once for each length (docs/models.md).
    layers: str | Sequence[int | str]
        Change only in these layers, such as 0-3,5.
    heads: str | Sequence[int | str | tuple[int, int]]
        Change only these heads, as layer.head: 3.5,7.*. All heads are measured, because those of later
        layers change too; the layers before the first changed one are neither run nor measured again.
    top_n: int | Sequence[int] | str
        Sizes of the selected sets (default 1,5,10,20,100). A set omits at least one key: sizes from the
        longest length on are null, as a notice says.
    beyond_sinks: bool
        Measure distance, separability, coverage, proportion and dispersion as if the sinks of each head
        were hidden (default false). The heaviest keys of a head that rests on sinks are its sinks; the
        keys beyond them are what it selects. Sinks are found in each head; see docs/roles.md. The other
        groups have values of both kinds.
    top_share: float | Sequence[float] | str
        Shares of the keys, such as 0.01,0.1, for the group `proportion` (default: none, and no such
        group).
    measures: str | Measure | Sequence[str | Measure]
        Groups of metrics: weights, distance, separability, sensitivity, coverage, dispersion,
        counterfactual, model, proportion, roles, answers, logits (default: all that apply).
        `counterfactual` needs `pattern` or `normalizer`.
    queries: int | Literal['all']
        Rows measured in each position bin (default: all up to length 8192, else 64). They are drawn
        evenly. The model itself always runs over all rows.
    examples: int | Literal['none']
        Keep the K tokens whose loss each change alters most, with their text (default: 16, if there are
        at most 16 texts). The report shows them. results.json and the page then hold the text around
        them: `none` keeps it out. A K of all tokens writes every loss. See docs/examples.md.
    direction: Literal['random', 'top2']
        Direction of the step of the logits: random (the paper's, the default) or top2 (moves the two
        largest apart).
    temperatures: float | Sequence[float] | str
        Temperatures (default: 31 from 0.01 to 10). The default's are even in the logarithm.
    epsilons: float | Sequence[float] | str
        Sizes of the step of the logits (default 0.001,0.1,10).
    critical_max: int
        Largest N searched for critical N (default 128).
    critical_level: float
        Level of the tests for critical N (default 0.01).
    unit_sphere: bool
        Separability on vectors scaled to length 1, as the theorem assumes (default true).
    expected_draws: int
        Check the expected distance against this many random sets per row (default 0: off). Gives
        `expected_distance_sampled` and its error, docs/formats.md. The error of a single row is
        unreliable if one key dominates the row: look at means, or draw more.
    threads: int
        Number of threads (default: the number of cores). The results are the same bits for any number.
    seed: int
        Seed of every random draw (default 0).
    plan: str | Sequence[str]
        Plans to compare with the unchanged model, which headgauge plan wrote. You may give patterns or
        normalizers too; `layers` and `heads` choose among the heads of a plan. See docs/plan.md; a plan
        for another model is refused.
    fit: TextOrIds
        Choose the parameter of each normalizer, head by head, that changes the head's output least on
        this other text (ids, with tokens). The normalizers are then measured on the other text; the two
        must differ. A given parameter is kept, and a normalizer without a parameter is not fitted; a
        notice says so.
    confirm: TextOrIds
        Test on this other text (ids, with tokens) the changes that lower the loss, each alone and all
        together; only a change that lowers it there too is recommended. It must differ from the text
        that is measured and from that of `fit`.
    tasks: str | Sequence[str]
        Task files, whose cases the model answers beside the text or without one. Each line is a case: a
        prompt and its answer. See docs/tasks.md.
    probe: str | Sequence[str]
        Tasks of headgauge task whose cases the run generates itself, as long as its longest length:
        replay, repeats .... The text of the run is the haystack. See docs/tasks.md.
    cases: int
        Largest number of cases of each task file, spread over the file (default 50), and number of
        cases of each probe (default 16).
    text: TextOrIds
        Texts, in place of `text_or_ids`.
    tokens: TextOrIds
        Token ids or files of them, in place of `text_or_ids`.
    out: str | os.PathLike[str]
        Folder for results.json and heads.csv, and for the journal of a run that is stopped: the same
        call continues it. Made if need be.
    force: bool
        Replaces finished results of another request in `out`, which are refused otherwise.
    shard: str
        "I/N" measures share I of N of the documents alone, into `out`, for merge()."""
    ...

def converge(
    model: Any = None,
    text_or_ids: TextOrIds = None,
    *,
    progress: Progress | None = None,
    executor: Any = None,
    x: Literal['embedding', 'hidden', 'value'] | None = None,
    lengths: int | Sequence[int] | str | None = None,
    layers: str | Sequence[int | str] | None = None,
    heads: str | Sequence[int | str | tuple[int, int]] | None = None,
    top_n: int | Sequence[int] | str | None = None,
    beyond_sinks: bool | None = None,
    top_share: float | Sequence[float] | str | None = None,
    measures: str | Measure | Sequence[str | Measure] | None = None,
    queries: int | Literal['all'] | None = None,
    normalizer: str | Normalizer | Sequence[str | Normalizer] | None = None,
    direction: Literal['random', 'top2'] | None = None,
    temperatures: float | Sequence[float] | str | None = None,
    epsilons: float | Sequence[float] | str | None = None,
    critical_max: int | None = None,
    critical_level: float | None = None,
    unit_sphere: bool | None = None,
    expected_draws: int | None = None,
    threads: int | None = None,
    seed: int | None = None,
    grid: int | Sequence[int] | str | None = None,
    points: int | None = None,
    replicates: int | None = None,
    draws: int | None = None,
    tolerances: float | Sequence[float] | str | None = None,
    plan: str | os.PathLike[str] | None = None,
    tolerance_nats: float | Sequence[float] | str | None = None,
    confirm: TextOrIds | None = None,
    tasks: str | Sequence[str] | None = None,
    probe: str | Sequence[str] | None = None,
    cases: int | None = None,
    synthetic: str | None = None,
    dimension: int | None = None,
    variance: float | None = None,
    radius: float | None = None,
    components: int | None = None,
    values: str | None = None,
    scales: float | Sequence[float] | str | None = None,
    horizons: float | Sequence[float] | str | None = None,
    full: bool | None = None,
    reference: str | None = None,
    reference_tokens: int | None = None,
    radii: float | Sequence[float] | str | None = None,
    text: TextOrIds | None = None,
    tokens: TextOrIds | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool | None = None,
    shard: str | None = None,
) -> Results:
    """Measures how much context each head needs, or with `synthetic=` and no model how attention over
    random tokens converges. See scan() for what is not an option.

    Options (None leaves one at its default):

    x: Literal['embedding', 'hidden', 'value']
        Vectors that distances are taken between: token embeddings (the default), hidden states that
        enter the layer, or values of the head.
    lengths: int | Sequence[int] | str
        Context lengths such as 32,64,128; auto, the default, doubles from 32 to 1024 as far as they
        fit. `auto` is limited by the text and by the model (with rotary positions: its trained
        context), and adds the text's own length if that is below 1024. You may give lengths beyond the
        trained context if positions are unlimited; a notice says so. Each of several texts must reach
        the longest given length; with `auto` a shorter text is measured up to its own length, as a
        notice says. A bidirectional model (BERT) is run once for each length (docs/models.md).
    layers: str | Sequence[int | str]
        Measure only these layers, such as 0-3,5. Weights of layers after the last of them are then
        neither read nor checked for NaN, unless the loss is measured, which needs all.
    heads: str | Sequence[int | str | tuple[int, int]]
        Measure only these heads, as layer.head: 3.5,7.*.
    top_n: int | Sequence[int] | str
        Sizes of the selected sets (default 1,5,10,20,100). A set omits at least one key: sizes from the
        longest length on are null, as a notice says.
    beyond_sinks: bool
        Measure distance, separability, coverage, proportion and dispersion as if the sinks of each head
        were hidden (default false). The heaviest keys of a head that rests on sinks are its sinks; the
        keys beyond them are what it selects. Sinks are found in each head; see docs/roles.md. The other
        groups have values of both kinds.
    top_share: float | Sequence[float] | str
        Shares of the keys, such as 0.01,0.1, for the group `proportion` (default: none, and no such
        group).
    measures: str | Measure | Sequence[str | Measure]
        Groups of metrics: weights, distance, separability, sensitivity, coverage, dispersion,
        counterfactual, model, proportion, roles, answers, logits (default: weights, distance,
        separability, dispersion). `counterfactual` needs `pattern` or `normalizer`.
    queries: int | Literal['all']
        Rows measured in each position bin (default: all up to length 8192, else 64). They are drawn
        evenly. The model itself always runs over all rows. Budgets look at the same rows.
    normalizer: str | Normalizer | Sequence[str | Normalizer]
        Normalizer, which turns scores into weights (default softmax); headgauge list normalizers lists
        them. Errors, rates and budgets are those under it, on the model's own queries, keys and values.
    direction: Literal['random', 'top2']
        Direction of the step of the logits: random (the paper's, the default) or top2 (moves the two
        largest apart).
    temperatures: float | Sequence[float] | str
        Temperatures (default: 31 from 0.01 to 10). The default's are even in the logarithm.
    epsilons: float | Sequence[float] | str
        Sizes of the step of the logits (default 0.001,0.1,10).
    critical_max: int
        Largest N searched for critical N (default 128).
    critical_level: float
        Level of the tests for critical N (default 0.01).
    unit_sphere: bool
        Separability on vectors scaled to length 1, as the theorem assumes (default true).
    expected_draws: int
        Check the expected distance against this many random sets per row (default 0: off). Gives
        `expected_distance_sampled` and its error, docs/formats.md. The error of a single row is
        unreliable if one key dominates the row: look at means, or draw more.
    threads: int
        Number of threads (default: the number of cores). The results are the same bits for any number.
    seed: int
        Seed of every random draw (default 0).
    grid: int | Sequence[int] | str
        Numbers of tokens that are drawn, such as 64,128,256, or geometric ones (default: points
        geometric ones from L/8 to 3L/4, L the longest length). Ascending, and at most the context. With
        fewer than 4 that can be used there is no rate.
    points: int
        Number of points of the default grid (default 10).
    replicates: int
        Subsamples at each number of tokens (default 500).
    draws: int
        Random sets of keys for the budget of uniform keys (default 32).
    tolerances: float | Sequence[float] | str
        Relative errors of the output that a key budget allows; 0.05 is always among them (default
        0.01,0.05,0.1). Caches are about 0.05.
    plan: str | os.PathLike[str]
        Run the model under this plan, which headgauge plan wrote. See docs/plan.md; a plan for another
        model is refused.
    tolerance_nats: float | Sequence[float] | str
        Find budgets for these rises of the loss too, on this text, and measure them on that of confirm.
        See docs/convergence.md. A plan for each is written to `out`.
    confirm: TextOrIds
        Other texts on which the budgets for a rise of the loss are measured once. They may not have 64
        tokens in a row in common with the text.
    tasks: str | Sequence[str]
        Task files, whose cases the model answers beside the text. Each line is a case: a prompt and its
        answer. See docs/tasks.md.
    probe: str | Sequence[str]
        Tasks of headgauge task whose cases the run generates itself, as long as its longest length:
        replay, repeats .... The text of the run is the haystack. See docs/tasks.md.
    cases: int
        Largest number of cases of each task file, spread over the file (default 50), and number of
        cases of each probe (default 16).
    synthetic: str
        Use random tokens instead of a model and a text, and compare attention over them with its known
        limit. `grid`, `points`, `replicates`, `normalizer`, `seed`, `threads`, `out`, `json` and
        `quiet` go with it.
    dimension: int
        Dimension of the tokens (default 50). At most 1024.
    variance: float
        Variance of a coordinate: of Gaussian tokens and atoms (default 0.1), or of a component of a
        mixture (default 0.05).
    radius: float
        Radius of the sphere, or of the sphere with the means of a mixture; of atoms the distance from 0
        in standard deviations (default 1).
    components: int
        Number of components of a mixture (default 4).
    values: str
        The matrix V: identity (the default), or random as in the paper's code.
    scales: float | Sequence[float] | str
        Scales of queries and keys (default 0.05:50:12, of a sphere 10:1e5:12). FIRST:LAST:COUNT is a
        geometric range.
    horizons: float | Sequence[float] | str
        Horizons that the scales must give; they replace scales.
    full: bool
        Use the paper's numbers of tokens (up to 30000, of a sphere 100000) and 200 replicates; with out
        an interrupted run resumes. The paper's are 1000 to 30000 tokens (a sphere: 10000 to 100000) at
        12 points; the default is 500 to 4000 at 8 points with 20 replicates.
    reference: str
        exact (the default where the limit is known), or sample: one large draw, as in the paper's code.
    reference_tokens: int
        Tokens of that draw (default 100000; 4 times the most of grid under a normalizer that is not
        softmax).
    radii: float | Sequence[float] | str
        Radii of the balls whose worst query is searched, in standard deviations (default
        0.5,1,1.5,2,2.5,3).
    text: TextOrIds
        Texts, in place of `text_or_ids`.
    tokens: TextOrIds
        Token ids or files of them, in place of `text_or_ids`.
    out: str | os.PathLike[str]
        Folder for results.json and heads.csv, and for the journal of a run that is stopped: the same
        call continues it. Made if need be.
    force: bool
        Replaces finished results of another request in `out`, which are refused otherwise.
    shard: str
        "I/N" measures share I of N of the documents alone, into `out`, for merge()."""
    ...

def validate(
    model: Any,
    text_or_ids: TextOrIds = None,
    *,
    progress: Progress | None = None,
    executor: Any = None,
    pattern: str | Pattern | Sequence[str | Pattern] | None = None,
    normalizer: str | Normalizer | Sequence[str | Normalizer] | None = None,
    permutations: int | None = None,
    resamples: int | None = None,
    level: float | None = None,
    x: Literal['embedding', 'hidden', 'value'] | None = None,
    lengths: int | Sequence[int] | str | None = None,
    layers: str | Sequence[int | str] | None = None,
    heads: str | Sequence[int | str | tuple[int, int]] | None = None,
    top_n: int | Sequence[int] | str | None = None,
    beyond_sinks: bool | None = None,
    top_share: float | Sequence[float] | str | None = None,
    measures: str | Measure | Sequence[str | Measure] | None = None,
    queries: int | Literal['all'] | None = None,
    direction: Literal['random', 'top2'] | None = None,
    temperatures: float | Sequence[float] | str | None = None,
    epsilons: float | Sequence[float] | str | None = None,
    critical_max: int | None = None,
    critical_level: float | None = None,
    unit_sphere: bool | None = None,
    expected_draws: int | None = None,
    threads: int | None = None,
    seed: int | None = None,
    tasks: str | Sequence[str] | None = None,
    probe: str | Sequence[str] | None = None,
    cases: int | None = None,
    text: TextOrIds | None = None,
    tokens: TextOrIds | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool | None = None,
    shard: str | None = None,
) -> Results:
    """Tells which metrics predict what a change of a head does to the loss, on at least two texts.
    See scan() for what is not an option.

    Options (None leaves one at its default):

    pattern: str | Pattern | Sequence[str | Pattern]
        The patterns of keys that are tried in one head at a time (default
        sinks:sinks=4,window=60,topk:k=16); none: no pattern. docs/patterns.md.
    normalizer: str | Normalizer | Sequence[str | Normalizer]
        The normalizers that are tried in one head at a time (default
        uniform,softmax:t=0.5,softmax:t=2); none: no normalizer. docs/normalizers.md. `uniform` replaces
        the head's output by the mean over the keys.
    permutations: int
        Permutations of the heads within their layers behind a p-value (default 9999).
    resamples: int
        Resamples of the heads behind an interval (default 1000).
    level: float
        Level of the false discovery rate among all correlations (default 0.05).
    x: Literal['embedding', 'hidden', 'value']
        Vectors that distances are taken between: token embeddings (the default), hidden states that
        enter the layer, or values of the head.
    lengths: int | Sequence[int] | str
        Context lengths such as 32,64,128; auto, the default, doubles from 32 to 1024 as far as they
        fit. `auto` is limited by the text and by the model (with rotary positions: its trained
        context), and adds the text's own length if that is below 1024. You may give lengths beyond the
        trained context if positions are unlimited; a notice says so. Each of several texts must reach
        the longest given length; with `auto` a shorter text is measured up to its own length, as a
        notice says. A bidirectional model (BERT) is run once for each length (docs/models.md).
    layers: str | Sequence[int | str]
        Measure only these layers, such as 0-3,5. Weights of layers after the last of them are then
        neither read nor checked for NaN, unless the loss is measured, which needs all.
    heads: str | Sequence[int | str | tuple[int, int]]
        Measure only these heads, as layer.head: 3.5,7.*.
    top_n: int | Sequence[int] | str
        Sizes of the selected sets (default 1,5,10,20,100). A set omits at least one key: sizes from the
        longest length on are null, as a notice says.
    beyond_sinks: bool
        Measure distance, separability, coverage, proportion and dispersion as if the sinks of each head
        were hidden (default false). The heaviest keys of a head that rests on sinks are its sinks; the
        keys beyond them are what it selects. Sinks are found in each head; see docs/roles.md. The other
        groups have values of both kinds.
    top_share: float | Sequence[float] | str
        Shares of the keys, such as 0.01,0.1, for the group `proportion` (default: none, and no such
        group).
    measures: str | Measure | Sequence[str | Measure]
        Groups of metrics: weights, distance, separability, sensitivity, coverage, dispersion,
        counterfactual, model, proportion, roles, answers, logits (default: all that apply).
        `counterfactual` needs `pattern` or `normalizer`.
    queries: int | Literal['all']
        Rows measured in each position bin (default: all up to length 8192, else 64). They are drawn
        evenly. The model itself always runs over all rows.
    direction: Literal['random', 'top2']
        Direction of the step of the logits: random (the paper's, the default) or top2 (moves the two
        largest apart).
    temperatures: float | Sequence[float] | str
        Temperatures (default: 31 from 0.01 to 10). The default's are even in the logarithm.
    epsilons: float | Sequence[float] | str
        Sizes of the step of the logits (default 0.001,0.1,10).
    critical_max: int
        Largest N searched for critical N (default 128).
    critical_level: float
        Level of the tests for critical N (default 0.01).
    unit_sphere: bool
        Separability on vectors scaled to length 1, as the theorem assumes (default true).
    expected_draws: int
        Check the expected distance against this many random sets per row (default 0: off). Gives
        `expected_distance_sampled` and its error, docs/formats.md. The error of a single row is
        unreliable if one key dominates the row: look at means, or draw more.
    threads: int
        Number of threads (default: the number of cores). The results are the same bits for any number.
    seed: int
        Seed of every random draw (default 0).
    tasks: str | Sequence[str]
        Task files, whose cases the model answers beside the text or without one. Each line is a case: a
        prompt and its answer. See docs/tasks.md.
    probe: str | Sequence[str]
        Tasks of headgauge task whose cases the run generates itself, as long as its longest length:
        replay, repeats .... The text of the run is the haystack. See docs/tasks.md.
    cases: int
        Largest number of cases of each task file, spread over the file (default 50), and number of
        cases of each probe (default 16).
    text: TextOrIds
        Texts, in place of `text_or_ids`.
    tokens: TextOrIds
        Token ids or files of them, in place of `text_or_ids`.
    out: str | os.PathLike[str]
        Folder for results.json and heads.csv, and for the journal of a run that is stopped: the same
        call continues it. Made if need be.
    force: bool
        Replaces finished results of another request in `out`, which are refused otherwise.
    shard: str
        "I/N" measures share I of N of the documents alone, into `out`, for merge()."""
    ...

def plan(
    model: Any,
    text_or_ids: TextOrIds = None,
    *,
    progress: Progress | None = None,
    confirm: TextOrIds | None = None,
    lengths: int | Literal['auto'] | None = None,
    pieces: int | None = None,
    replay: int | None = None,
    tasks: str | Sequence[str] | None = None,
    probe: str | Sequence[str] | None = None,
    cases: int | None = None,
    confirm_tasks: str | Sequence[str] | None = None,
    confirm_probe: str | Sequence[str] | None = None,
    confirm_cases: int | None = None,
    objective: Literal['memory', 'loss'] | None = None,
    memory: float | None = None,
    allow: float | None = None,
    allow_replay: float | None = None,
    allow_answers: float | None = None,
    curve: float | Sequence[float] | str | None = None,
    pattern: str | Pattern | Sequence[str | Pattern] | None = None,
    normalizer: str | Normalizer | Sequence[str | Normalizer] | None = None,
    whole_layers: bool | None = None,
    search: Literal['regression', 'greedy'] | None = None,
    samples: int | Literal['auto'] | None = None,
    screen: int | Literal['all'] | None = None,
    random_plans: int | None = None,
    threads: int | None = None,
    seed: int | None = None,
    export: str | Sequence[str] | None = None,
    text: TextOrIds | None = None,
    tokens: TextOrIds | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool | None = None,
) -> Results:
    """Searches a change of the attention head by head on texts, and confirms it on those of
    `confirm=`, which had no part in it and are given as texts are to scan(). `Results.plan` holds what
    was found, as plan.json does.

    Options (None leaves one at its default):

    confirm: TextOrIds
        Other texts (ids, with tokens) on which the plan is measured once, at the end. They may not have
        64 tokens in a row in common with those that are searched on.
    lengths: int | Literal['auto']
        Tokens of a piece of text, which is a document; auto, the default, is 1024 or as far as model
        and texts go.
    pieces: int
        Largest number of pieces of each text, spread over the text (default 4).
    replay: int
        Repeat the first R tokens of each piece at its end, and judge plans by their loss too; 0: no
        replay (default 64). Pieces of fewer than 6 R tokens have none.
    tasks: str | Sequence[str]
        Task files, whose cases plans are judged by too: every second case in the search, the others
        when a plan is chosen. Each line is a case: a prompt and its answer. See docs/tasks.md.
    probe: str | Sequence[str]
        Tasks of headgauge task whose cases the run generates itself, as long as its longest length:
        replay, repeats .... The text of the run is the haystack. See docs/tasks.md.
    cases: int
        Largest number of cases of each task file, and number of cases of each probe (default 8).
    confirm_tasks: str | Sequence[str]
        Other task files, whose cases are answered once, at the end. Use other kinds of tasks: what
        holds for them was not chosen on them.
    confirm_probe: str | Sequence[str]
        Other tasks of headgauge task, whose cases the run generates in the texts of confirm and that
        are answered once, at the end.
    confirm_cases: int
        Largest number of cases of each file of confirm_tasks (default 50), and number of cases of each
        probe (default 16).
    objective: Literal['memory', 'loss']
        Goal of the search: the lowest loss at a share of the key-value cache (the default), or the
        lowest loss at any size of the cache.
    memory: float
        Keep at most this share of the key-value cache (default 0.5, unless allow is given).
    allow: float
        Keep less and less of the cache, as long as the loss is shown to rise by less than this.
    allow_replay: float
        The same for the loss of replayed tokens (default: as allow).
    allow_answers: float
        The same for the loss of the answers of each task (default: as allow).
    curve: float | Sequence[float] | str
        Make plans for these shares of the cache too, for the curve of loss against cache (default
        0.75,0.5,0.25). `objective loss` takes no shares.
    pattern: str | Pattern | Sequence[str | Pattern]
        Patterns that may replace full attention in a head (default: 4 sinks and a recent window, of
        1/64 to 3/4 of the context). See docs/patterns.md. Patterns that may look at any key again, such
        as `topk`, keep the whole cache.
    normalizer: str | Normalizer | Sequence[str | Normalizer]
        Normalizers that a head may get (default: uniform, whose cache is a running mean; for objective
        loss temperatures too).
    whole_layers: bool
        Change all heads of a layer alike, for engines that cannot tell them apart (default false).
    search: Literal['regression', 'greedy']
        How plans are searched for: by regression on the losses of random plans (the default), or head
        by head, which takes hours beyond a hundred heads. `objective loss` always searches head by
        head.
    samples: int | Literal['auto']
        Number of random plans of the regression; auto, the default, is four times the number of key-
        value heads or whole layers, from 128 to 512.
    screen: int | Literal['all']
        For search greedy: measure the loss of only the first N heads under a candidate one by one,
        those whose output it changes least (default all). The search begins with those. Use it if
        measuring all heads takes too long.
    random_plans: int
        Compare with this many random assignments of the plan to other heads (default 20).
    threads: int
        Number of threads (default: the number of cores). The results are the same bits for any number.
    seed: int
        Seed of every random draw (default 0).
    export: str | Sequence[str]
        Write the plan for other tools too, into out: hf, hf-layers. See docs/plan.md.
    text: TextOrIds
        Texts, in place of `text_or_ids`.
    tokens: TextOrIds
        Token ids or files of them, in place of `text_or_ids`.
    out: str | os.PathLike[str]
        Folder for results.json and heads.csv, and for the journal of a run that is stopped: the same
        call continues it. Made if need be.
    force: bool
        Replaces finished results of another request in `out`, which are refused otherwise."""
    ...

def reproduce(
    what: str,
    model: Any,
    text_or_ids: TextOrIds = None,
    *,
    progress: Progress | None = None,
    x: Literal['embedding', 'hidden', 'value'] | None = None,
    lengths: int | Sequence[int] | str | None = None,
    threads: int | None = None,
    seed: int | None = None,
    tasks: str | Sequence[str] | None = None,
    probe: str | Sequence[str] | None = None,
    cases: int | None = None,
    full: bool | None = None,
    dimension: int | None = None,
    grid: int | Sequence[int] | str | None = None,
    replicates: int | None = None,
    radii: float | Sequence[float] | str | None = None,
    text: TextOrIds | None = None,
    tokens: TextOrIds | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool | None = None,
) -> Results:
    """Measures what a paper claims: `what` is "limits" (paper A) or "tokens" (paper B). The
    report and the figures are written where `out=` says; Results has them too.

    Options (None leaves one at its default):

    x: Literal['embedding', 'hidden', 'value']
        Vectors that distances are taken between: token embeddings (the default), hidden states that
        enter the layer, or values of the head.
    lengths: int | Sequence[int] | str
        Context lengths such as 32,64,128; auto, the default, doubles from 32 to 1024 as far as they
        fit. `auto` is limited by the text and by the model (with rotary positions: its trained
        context), and adds the text's own length if that is below 1024. You may give lengths beyond the
        trained context if positions are unlimited; a notice says so. Each of several texts must reach
        the longest given length; with `auto` a shorter text is measured up to its own length, as a
        notice says. A bidirectional model (BERT) is run once for each length (docs/models.md).
    threads: int
        Number of threads (default: the number of cores). The results are the same bits for any number.
    seed: int
        Seed of every random draw (default 0).
    tasks: str | Sequence[str]
        Task files, whose cases the model answers beside the text. Each line is a case: a prompt and its
        answer. See docs/tasks.md.
    probe: str | Sequence[str]
        Tasks of headgauge task whose cases the run generates itself, as long as its longest length:
        replay, repeats .... The text of the run is the haystack. See docs/tasks.md.
    cases: int
        Largest number of cases of each task file, spread over the file (default 50), and number of
        cases of each probe (default 16).
    full: bool
        Use the paper's numbers of random tokens (up to 30000, on the sphere 100000) and 200 replicates;
        takes hours; an interrupted run resumes. See docs/synthetic.md.
    dimension: int
        Dimension of random tokens (default 50).
    grid: int | Sequence[int] | str
        Numbers of random tokens, such as 500,1000,2000,4000 (default 8 from 500 to 4000).
    replicates: int
        Replicates of every experiment (default 20, with full 200; on a model 500).
    radii: float | Sequence[float] | str
        Radii of the balls whose worst query is searched, in standard deviations (default
        0.25,0.5,0.75,1,1.5,2).
    text: TextOrIds
        Texts, in place of `text_or_ids`.
    tokens: TextOrIds
        Token ids or files of them, in place of `text_or_ids`.
    out: str | os.PathLike[str]
        Folder for results.json and heads.csv, and for the journal of a run that is stopped: the same
        call continues it. Made if need be.
    force: bool
        Replaces finished results of another request in `out`, which are refused otherwise."""
    ...

def task(
    name: str,
    model: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    text: TextOrIds = None,
    length: int | None = None,
    cases: int | None = None,
    values: Literal['numbers', 'words', 'uuids'] | None = None,
    items: int | None = None,
    seed: int | None = None,
) -> None:
    """Writes cases of a retrieval task (docs/tasks.md) in the tokens of a model to the file `out`, one case a
    line. `name` is copy, passkey, keys, values, pairs, trace, replay or repeats; `model` is the path or the
    name of a checkpoint; `text` is what facts are hidden in, given as texts are to scan().

    Raises UsageError, BadInputError, UnsupportedError, ResourceError (headgauge.errors), TypeError
    for an option that there is not.

    Options (None leaves one at its default):

    length: int
        Tokens of each prompt with its answer (default 512).
    cases: int
        Number of cases (default 100). The distances from the answer to its source are spread evenly
        over the context.
    values: Literal['numbers', 'words', 'uuids']
        Values that keys and values ask for (default numbers).
    items: int
        Number of keys (default 4), of values of the key (default 2), or of variables in a chain of
        trace (default 3).
    seed: int
        Seed of every random draw (default 0)."""
    ...

def diff(
    old: Any,
    new: Any,
    *,
    out: str | os.PathLike[str] | None = None,
    metrics: str | Sequence[str] | None = None,
    heads: str | Sequence[int | str | tuple[int, int]] | None = None,
    level: float | None = None,
    limits: str | os.PathLike[str] | None = None,
    force: bool | None = None,
) -> Results:
    """Returns what changed between two results: Results, or paths of results.json or their folders. Four
    results or more on each side, as a list or in the folders of a folder, are compared text by text
    (docs/diff.md). `Results.exceeded` has a sentence for each limit of limits= that a change exceeds.

    Options (None leaves one at its default):

    metrics: str | Sequence[str]
        Compare only these metrics (default: all that both have). Those by position, and the changes
        that `compare` wrote, are listed only if they are named here.
    heads: str | Sequence[int | str | tuple[int, int]]
        Compare only these heads, as layer.head: 3.5,7.*; and only metrics of heads.
    level: float
        Share of the listed changes that may be due to chance (default 0.05). It is the false discovery
        rate over all comparisons; if nothing changed, a change is listed with this probability.
        docs/diff.md.
    limits: str | os.PathLike[str]
        Check these limits (docs/formats.md): exit code 1 if one is exceeded. docs/formats.md. Each
        exceeded limit has a line, and in Python an entry of `Results.exceeded`.
    force: bool
        Replaces finished results of another request in `out`, which are refused otherwise."""
    ...

def series(
    results: Iterable[Any],
    *,
    out: str | os.PathLike[str] | None = None,
    steps: float | Sequence[float] | str | None = None,
    metrics: str | Sequence[str] | None = None,
    level: float | None = None,
    force: bool | None = None,
) -> Results:
    """Joins the results of several checkpoints of one model along the dimension `step`: a list of
    Results, or of paths of results.json or their folders. The steps of a list of Results are 1, 2, 3 ...
    unless `steps=` gives them; those of paths are the numbers in which the paths differ. Adds for each
    metric and head the change from the first step to the last with its test, the slope, and the step
    of half the change. Raises UsageError for steps that do not fit, BadInputError for results of
    other heads, another length or another judged N.

    Options (None leaves one at its default):

    steps: float | Sequence[float] | str
        Steps of the results, in their order (default: the number in which the names differ, else 1, 2,
        3 ...).
    metrics: str | Sequence[str]
        Only these metrics (default: all metrics of heads that all results have).
    level: float
        Share of the listed changes that may be due to chance (default 0.05).
    force: bool
        Replaces finished results of another request in `out`, which are refused otherwise."""
    ...

def analyze(
    q: Any,
    k: Any,
    v: Any = None,
    x: Any = None,
    *,
    causal: bool = True,
    window: int = 0,
    scale: float | None = None,
    softcap: float = 0.0,
    position_bias: Any = None,
    copy: bool | None = None,
    lengths: int | Sequence[int] | str | None = None,
    layers: str | Sequence[int | str] | None = None,
    heads: str | Sequence[int | str | tuple[int, int]] | None = None,
    top_n: int | Sequence[int] | str | None = None,
    beyond_sinks: bool | None = None,
    top_share: float | Sequence[float] | str | None = None,
    measures: str | Measure | Sequence[str | Measure] | None = None,
    queries: int | Literal['all'] | None = None,
    examples: int | Literal['none'] | None = None,
    normalizer: str | Normalizer | Sequence[str | Normalizer] | None = None,
    pattern: str | Pattern | Sequence[str | Pattern] | None = None,
    direction: Literal['random', 'top2'] | None = None,
    temperatures: float | Sequence[float] | str | None = None,
    epsilons: float | Sequence[float] | str | None = None,
    critical_max: int | None = None,
    critical_level: float | None = None,
    unit_sphere: bool | None = None,
    expected_draws: int | None = None,
    threads: int | None = None,
    seed: int | None = None,
    tasks: str | Sequence[str] | None = None,
    probe: str | Sequence[str] | None = None,
    cases: int | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool | None = None,
) -> Results:
    """Measures the attention of queries and keys.

    `q`: (length, d), (heads, length, d) or (batch, heads, length, d); `k` likewise, with as many
    heads or a divisor of them (grouped heads); `v` with any dimension of its own; `x`: the vectors
    that distances are measured between, (length, w) or (batch, length, w). Each row of a batch is a
    document. numpy arrays, torch tensors, anything of DLPack or the array interface; float32 that is
    contiguous and in main memory is not copied, and with copy=False nothing else is taken.

    `window`: keys that a query sees, its own included, 0 for all; `scale`: of the scores, by default
    1 / sqrt(d); `softcap` c > 0: logits become c tanh(l / c);
    `position_bias` (heads, 2 length - 1), or that of one head for all: what is added to the logit of key j
    for query i stands at length - 1 + j - i (ALiBi, T5). Logits are natural; see
    docs/mathematics.md section 2.

    Raises BadInputError for shapes that do not fit, numbers that are not finite, and what cannot be
    taken without a copy; and what scan() raises.

    Options (None leaves one at its default):

    lengths: int | Sequence[int] | str
        Context lengths such as 32,64,128; auto, the default, doubles from 32 to 1024 as far as they
        fit. `auto` is limited by the text and by the model (with rotary positions: its trained
        context), and adds the text's own length if that is below 1024. You may give lengths beyond the
        trained context if positions are unlimited; a notice says so. Each of several texts must reach
        the longest given length; with `auto` a shorter text is measured up to its own length, as a
        notice says. A bidirectional model (BERT) is run once for each length (docs/models.md).
    layers: str | Sequence[int | str]
        Measure only these layers, such as 0-3,5. Weights of layers after the last of them are then
        neither read nor checked for NaN, unless the loss is measured, which needs all.
    heads: str | Sequence[int | str | tuple[int, int]]
        Measure only these heads, as layer.head: 3.5,7.*.
    top_n: int | Sequence[int] | str
        Sizes of the selected sets (default 1,5,10,20,100). A set omits at least one key: sizes from the
        longest length on are null, as a notice says.
    beyond_sinks: bool
        Measure distance, separability, coverage, proportion and dispersion as if the sinks of each head
        were hidden (default false). The heaviest keys of a head that rests on sinks are its sinks; the
        keys beyond them are what it selects. Sinks are found in each head; see docs/roles.md. The other
        groups have values of both kinds.
    top_share: float | Sequence[float] | str
        Shares of the keys, such as 0.01,0.1, for the group `proportion` (default: none, and no such
        group).
    measures: str | Measure | Sequence[str | Measure]
        Groups of metrics: weights, distance, separability, sensitivity, coverage, dispersion,
        counterfactual, model, proportion, roles, answers, logits (default: all that apply).
        `counterfactual` needs `pattern` or `normalizer`.
    queries: int | Literal['all']
        Rows measured in each position bin (default: all up to length 8192, else 64). They are drawn
        evenly. The model itself always runs over all rows.
    examples: int | Literal['none']
        Keep K characteristic queries of each head with the keys that they select, and their text
        (default: 6, if there are at most 16 texts). The head's page of the report shows them.
        results.json and the page then hold most of the text: `none` keeps it out. See docs/examples.md.
    normalizer: str | Normalizer | Sequence[str | Normalizer]
        Normalizer, which turns scores into weights (default softmax); headgauge list normalizers lists
        them. See docs/normalizers.md.
    pattern: str | Pattern | Sequence[str | Pattern]
        Keep only some keys of each query (default none); headgauge list patterns lists the patterns.
        The others are removed before the normalizer sees the row; `kept_mass` and `output_change` say
        what that costs. See docs/patterns.md.
    direction: Literal['random', 'top2']
        Direction of the step of the logits: random (the paper's, the default) or top2 (moves the two
        largest apart).
    temperatures: float | Sequence[float] | str
        Temperatures (default: 31 from 0.01 to 10). The default's are even in the logarithm.
    epsilons: float | Sequence[float] | str
        Sizes of the step of the logits (default 0.001,0.1,10).
    critical_max: int
        Largest N searched for critical N (default 128).
    critical_level: float
        Level of the tests for critical N (default 0.01).
    unit_sphere: bool
        Separability on vectors scaled to length 1, as the theorem assumes (default true).
    expected_draws: int
        Check the expected distance against this many random sets per row (default 0: off). Gives
        `expected_distance_sampled` and its error, docs/formats.md. The error of a single row is
        unreliable if one key dominates the row: look at means, or draw more.
    threads: int
        Number of threads (default: the number of cores). The results are the same bits for any number.
    seed: int
        Seed of every random draw (default 0).
    tasks: str | Sequence[str]
        Task files, whose cases the model answers beside the text or without one. Each line is a case: a
        prompt and its answer. See docs/tasks.md.
    probe: str | Sequence[str]
        Tasks of headgauge task whose cases the run generates itself, as long as its longest length:
        replay, repeats .... The text of the run is the haystack. See docs/tasks.md.
    cases: int
        Largest number of cases of each task file, spread over the file (default 50), and number of
        cases of each probe (default 16).
    out: str | os.PathLike[str]
        Folder for results.json and heads.csv, and for the journal of a run that is stopped: the same
        call continues it. Made if need be.
    force: bool
        Replaces finished results of another request in `out`, which are refused otherwise."""
    ...
