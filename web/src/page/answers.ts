// Shows the answers of tasks: how many are right, and what the interventions of `headgauge compare`
// cost them. One row for each task, of a comparison one for each task and intervention.
import type { Results } from "../data/results";
import { variants } from "../figures/critical";
import { signed } from "../figures/predictions";
import { element, section } from "./element";
import type { Page } from "./page";
import { ifAny, numberColumn, orderIn, table, textColumn, type Column } from "./table";
import { metricLink, shown } from "./words";

// A share and the ends of its interval; NaN where there is none.
interface Share {
  share: number;
  low: number;
  high: number;
}

export interface AnswerRow {
  task: string;
  done: boolean; // the model itself is shown to do the task
  place: number;
  intervention: string;
  right: Share;
  kept: Share;
  loss: number;
  gain: number;
  change: number;
  error: number; // standard error of the change
}

// Only of the whole model: answers with one head changed are in the map.
export const hasAnswers = (results: Results): boolean =>
  results.has("answer_right") && results.info("answer_right")?.dims.includes("layer") === false;

export function answerRows(results: Results): AnswerRow[] {
  const { dim, labels } = variants(results, "answer_right");
  const compared = dim !== "";
  return results.coord("task").flatMap((label, task) =>
    labels.map((intervention, k): AnswerRow => {
      const at = compared ? { [dim]: k, task } : { task };
      const share = (name: "answer_right" | "answers_kept"): Share => ({
        share: results.value(name, at),
        low: results.value(`${name}_low`, at),
        high: results.value(`${name}_high`, at),
      });
      const isChanged = compared && k > 0;
      return {
        task: String(label),
        done: results.value("does_task", { task }) === 1,
        place: task * labels.length + k,
        intervention,
        right: share("answer_right"),
        kept: isChanged ? share("answers_kept") : { share: NaN, low: NaN, high: NaN },
        loss: results.value("answer_loss", at),
        gain: results.value("answer_gain", { task }),
        change: isChanged ? results.value("answer_loss_change", at) : NaN,
        error: isChanged ? results.stderr("answer_loss_change", at) : NaN,
      };
    }),
  );
}

export async function answers(page: Page): Promise<HTMLElement | null> {
  const { results } = page;
  if (!hasAnswers(results)) return null;
  const rows = await results.gather(() => answerRows(results));
  const undone = [...new Set(rows.filter(({ done }) => !done).map(({ task }) => task))];
  const title = rows.some(({ kept }) => Number.isFinite(kept.share))
    ? "What the interventions do to answers"
    : "Answers";
  return section(
    "answers",
    title,
    element(
      "p",
      { class: "note" },
      "With 95 % intervals over cases. ",
      undone.length > 0 &&
        `The model is not shown to do ${undone.join(", ")}: that says nothing about a change. `,
      metricLink("answer_right"),
    ),
    table({ caption: title, columns: columnsOf(rows), rows, ...orderIn(page, "answers", true) }),
  );
}

const percent = (share: number): string => (100 * share).toFixed(0);

function columnsOf(rows: readonly AnswerRow[]): Column<AnswerRow>[] {
  const share = (id: "right" | "kept", title: string, interval: boolean): Column<AnswerRow>[] =>
    ifAny(rows, numberColumn(id, title, (row) => row[id].share, ({ [id]: { share: value, low, high } }) =>
      Number.isFinite(value) ? percent(value) + (interval ? ` (${percent(low)} to ${percent(high)})` : "") : "", "%"));
  const number = (id: "loss" | "gain" | "change", title: string, show: (row: AnswerRow) => string): Column<AnswerRow>[] =>
    ifAny(rows, numberColumn(id, title, (row) => row[id], (row) => (Number.isFinite(row[id]) ? show(row) : ""), "nats"));
  const compared = rows.some(({ intervention }) => intervention !== "");
  return [
    { id: "task", title: "Task", key: ({ place }) => place, show: ({ task }) => task },
    ...(compared ? [textColumn<AnswerRow>("intervention", "Intervention", ({ intervention }) => intervention)] : []),
    ...share("right", "Right", !compared),
    ...share("kept", "Kept", true),
    ...number("change", "Loss change", ({ change, error }) => `${signed(change, 3)} ± ${shown(error, 2)}`),
    ...(compared ? [] : number("loss", "Loss", ({ loss }) => shown(loss))),
    ...(compared ? [] : number("gain", "Gain", ({ gain }) => signed(gain, 3))),
  ];
}
