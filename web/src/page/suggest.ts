// Suggests the next word in a search field: a list below it, used with the arrow keys.
import { element, fill } from "./element";

export interface Suggestion {
  insert: string; // replaces the word that is being typed
  title: string;
  note: string;
}

// Returns suggestions for the word at the end of the text; "" if none has begun.
export type Suggest = (word: string) => Suggestion[];

const MOST = 8;

// Returns those whose name or title contains the word; those that begin with it come first.
export function matching(all: readonly Suggestion[], word: string): Suggestion[] {
  const asked = word.toLowerCase().replaceAll("_", " ");
  const names = ({ insert, title }: Suggestion) => [insert, title].map((name) => name.toLowerCase().replaceAll("_", " "));
  const begins = (one: Suggestion) => Number(!names(one).some((name) => name.startsWith(asked)));
  return all
    .filter((one) => names(one).some((name) => name.includes(asked)))
    .sort((a, b) => begins(a) - begins(b))
    .slice(0, MOST);
}

// Makes the list that belongs to the input, to put below it.
export function suggestions(input: HTMLInputElement, suggest: Suggest): HTMLElement {
  const list = element("ul", { id: `${input.id}-list`, class: "suggestions", role: "listbox", "aria-label": "Suggestions", hidden: true });
  let now: Suggestion[] = [];
  let place = -1;
  const word = () => /[^\s,]*$/.exec(input.value)![0];
  const show = () => {
    list.hidden = now.length === 0;
    fill(
      list,
      ...now.map(({ insert, title, note }, k) =>
        element(
          "li",
          {
            id: `${list.id}-${k}`,
            role: "option",
            "aria-selected": String(k === place),
            // A click would take the focus from the input, which closes the list.
            onpointerdown: (event) => {
              event.preventDefault();
              take(k);
            },
          },
          element("b", {}, insert.trim()),
          ` ${title}`,
          element("span", { class: "note" }, note),
        ),
      ),
    );
    input.setAttribute("aria-expanded", String(!list.hidden));
    if (place >= 0) input.setAttribute("aria-activedescendant", `${list.id}-${place}`);
    else input.removeAttribute("aria-activedescendant");
  };
  const close = () => {
    now = [];
    place = -1;
    show();
  };
  const open = () => {
    now = suggest(word());
    if (now.some(({ insert }) => insert.trim() === word())) now = []; // it is complete
    place = -1;
    show();
  };
  const take = (k: number) => {
    input.value = `${input.value.slice(0, input.value.length - word().length)}${now[k]!.insert}`;
    close();
    input.dispatchEvent(new Event("input"));
    close();
  };
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-expanded", "false");
  input.setAttribute("aria-controls", list.id);
  input.setAttribute("autocomplete", "off");
  input.addEventListener("input", () => (word() === "" ? close() : open()));
  input.addEventListener("click", () => (list.hidden && word() === "" ? open() : undefined));
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !list.hidden) {
      event.preventDefault(); // Escape would empty the field
      close();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) return open();
      const by = event.key === "ArrowDown" ? 1 : -1;
      place = (place + by + now.length + (place < 0 && by < 0 ? 1 : 0)) % now.length;
      show();
    } else if (event.key === "Enter" && place >= 0) {
      event.preventDefault();
      take(place);
    }
  });
  return list;
}
