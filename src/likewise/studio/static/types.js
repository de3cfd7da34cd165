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

/** @typedef {{name: string | null, items: Item[]}} ShownGroup  a group in a question, with typical items */

/**
 * What is usual in a column; see ColumnView of the server.
 * @typedef {object} Column
 * @property {string} name
 * @property {number} typical  the typical difference between two rows
 * @property {number | null} low  null if it is not a column of numbers
 * @property {number | null} high
 * @property {[number, number] | null} middle  the quartiles
 * @property {number} decimals
 * @property {string[]} levels  of a category, the most frequent first
 */

/**
 * What is usual among the items.
 * @typedef {object} Profile
 * @property {number} n  sampled items
 * @property {Column[]} columns
 * @property {[string, number][]} words  common words, and the number of sampled items with each
 */

/**
 * @typedef {object} Question
 * @property {string} id
 * @property {"pair" | "triplet" | "placement" | "members" | "groups" | "label"} kind
 * @property {string} text
 * @property {string} why
 * @property {Item[]} items
 * @property {ShownGroup[]} groups
 * @property {string[]} names  names in use, offered by a label question
 * @property {boolean} practice
 * @property {number} until  epoch seconds; reserved for this person until then
 */

/** @typedef {"SAME" | "DIFFERENT" | "UNSURE" | "AB" | "AC" | "BC" | "NEITHER" | "NEW"} Word */

/**
 * An answer: a word, the number of a group in a placement, the numbers of items that do not belong, or a name.
 * @typedef {Word | {groups: number[]} | {unlike: number[]} | {name: string}} Reply
 */

/**
 * @typedef {object} Progress
 * @property {[number, number, number]} version  number of the last event, and of the last that the groups and the numbers about them include
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
 * @property {number} suspects  suspect answers
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
 * @property {{kind: string, items: Item[], groups: ShownGroup[]} | null} question
 * @property {string | null} question_id
 * @property {Reply | null} answer
 * @property {[number, number, number][]} relations  rows, and 1 for together or 0 for apart
 * @property {number | null} seconds
 * @property {string | null} source
 * @property {string | null} name  the new name of a group
 * @property {string | null} note  of the person who answered
 * @property {string | null} sentence  what a repair states
 * @property {number} n_items  of a repair; some of them are shown
 * @property {boolean} undone
 * @property {boolean} can_undo
 */

/**
 * @typedef {object} Me
 * @property {{id: number, name: string, role: "owner" | "annotator"}} person
 * @property {{title: string, kind: string, n_items: number, ask: string, overlap: number,
 *             n_clusters: number | [number, number] | null, discover: boolean, study: boolean, criterion: string, has_guide: boolean, shows_groups: boolean, features?: string, notes?: string[], id?: string}} project
 * @property {string} version
 */

/**
 * @typedef {object} Guide  what people read before they answer
 * @property {string} title
 * @property {string} criterion
 * @property {string} text
 * @property {Item[]} items  those that the text mentions
 * @property {{name: string, items: Item[]}[]} examples
 */

/**
 * @typedef {object} SetupState  what the owner can set
 * @property {string} title
 * @property {string} criterion
 * @property {Record<string, string>} questions  by kind; empty for the default
 * @property {Record<string, string>} defaults
 * @property {string} guideline
 * @property {{name: string, items: Item[]}[]} examples
 * @property {number | [number, number] | null} n_clusters
 * @property {boolean} discover
 * @property {string} ask
 * @property {number} overlap
 * @property {number | null} budget
 * @property {boolean | null} independent
 * @property {boolean} study
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
