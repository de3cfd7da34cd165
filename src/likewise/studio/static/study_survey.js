/** The questionnaire at the end of a study. Its questions must equal those of study/survey.py. */

import { h } from "./dom.js";
import { heading } from "./study_pages.js";

export const QUESTIONS = [
  { name: "performance", text: "In which task are you more confident of your answers?" },
  { name: "effort_per_query", text: "In which task did a single question take you more effort?" },
  { name: "overall_effort", text: "Which task, with all its questions taken together, took you more effort?" },
  { name: "frustration", text: "In which task did you feel more stressed or discouraged?" },
  { name: "preference", text: "Which task would you rather do, all in all?" },
];

const CHOICES = [
  { value: "pair", label: "Pairs" },
  { value: "triplet", label: "Triplets" },
  { value: "none", label: "No difference" },
];

/**
 * @param {(answers: Record<string, string>) => void} fillIn
 * @returns {HTMLElement[]}
 */
export function surveyPage(fillIn) {
  const send = h("button", { type: "submit", class: "primary" }, "Send");
  const form = h("form", { class: "survey" },
    ...QUESTIONS.map((question) => h("fieldset", null, h("legend", null, question.text),
      h("div", { class: "row" }, ...CHOICES.map((choice) => h("label", { class: "check" },
        h("input", { type: "radio", name: question.name, value: choice.value, required: true }), choice.label))))),
    h("label", { for: "survey-comments" }, "Why? Any other comments? (Optional)"),
    h("textarea", { id: "survey-comments", name: "comments", rows: 4, maxlength: 10000 }),
    h("div", { class: "row" }, send));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send.disabled = true;
    /** @type {Record<string, string>} */
    const answers = {};
    for (const [name, value] of new FormData(form)) answers[name] = String(value);
    fillIn(answers);
  });
  return [
    heading("Five last questions"),
    h("p", null, "Compare the two tasks: pairs, with two items at a time, and triplets, with three."),
    form,
  ];
}
