/**
 * Types of the server's responses and of what the modules of the page share. No code.
 * Import them with `@import {Item, Context} from "./types.js"` in a JSDoc comment.
 */

/**
 * An item to look at.
 * @typedef {object} Item
 * @property {number} row
 * @property {string} id
 * @property {"image" | "sound" | "text" | "row"} kind
 * @property {string} title
 * @property {string | null} text
 * @property {[string, string][]} cells  column and value
 * @property {string | null} media  an address relative to the base of the page
 * @property {string | null} thumb
 * @property {string | null} spectrogram
 * @property {string | null} broken  a sentence if its file cannot be shown
 */

/**
 * @typedef {object} Question
 * @property {string} id
 * @property {"pair" | "triplet"} kind
 * @property {string} text
 * @property {string} why
 * @property {Item[]} items
 * @property {boolean} practice
 * @property {number} until  epoch seconds; reserved for this person until then
 */

/** @typedef {"SAME" | "DIFFERENT" | "UNSURE" | "AB" | "AC" | "BC" | "NEITHER"} Word */

/**
 * @typedef {object} Progress
 * @property {number} n_answers
 * @property {number} mine
 * @property {number | null} changed
 * @property {number | null} gain
 * @property {number | null} accuracy
 * @property {[number, number] | null} interval
 * @property {boolean} worth_asking
 * @property {string} advice
 * @property {string} reason
 * @property {[number, number][]} curve
 * @property {number} groups
 * @property {number} conflicts
 * @property {number} odd  answers that look wrong
 * @property {[number, number, number] | null} error_rate  estimated share of wrong answers: mean, low, high
 * @property {boolean} fitting
 * @property {number} behind
 */

/**
 * @typedef {object} Batch  the response of POST api/questions
 * @property {Question[]} questions
 * @property {"ready" | "thinking" | "finished"} state
 * @property {string | null} message
 */

/**
 * @typedef {object} Receipt  the response to an answer or a skip
 * @property {number} seq
 * @property {boolean} new
 * @property {Question[]} next
 * @property {"ready" | "thinking" | "finished"} state
 * @property {string | null} message
 * @property {string | null} right  the right answer to a practice question of a study
 * @property {Progress} progress
 */

/**
 * @typedef {object} Past  an event of the history or of a conflict
 * @property {number} seq
 * @property {string} kind
 * @property {string} time
 * @property {string} person
 * @property {boolean} mine
 * @property {{kind: string, items: Item[]} | null} question
 * @property {string | null} question_id
 * @property {Word | null} answer
 * @property {number | null} seconds
 * @property {string | null} source
 * @property {string | null} name  the new name of a group
 * @property {boolean} undone
 * @property {boolean} can_undo
 */

/**
 * @typedef {object} Me
 * @property {{id: number, name: string, role: "owner" | "annotator"}} person
 * @property {{title: string, kind: string, n_items: number, ask: string, overlap: number,
 *             n_clusters: number | null, discover: boolean, study: boolean, features?: string, notes?: string[], id?: string}} project
 * @property {string} version
 */

/**
 * The context of a view; see the top of app.js.
 * @typedef {object} Context
 * @property {import("./api.js").Api} api
 * @property {Me} me
 * @property {EventTarget} events
 * @property {import("./outbox.js").Outbox} outbox
 * @property {import("./keys.js").Keys} keys
 * @property {(text: string) => void} announce
 * @property {(route: string) => void} go
 * @property {(text: string, kind?: "info" | "good" | "bad") => void} toast
 * @property {() => void} showReference
 */

/** @typedef {() => void} Unmount */

export {};
