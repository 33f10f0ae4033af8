/**
 * What is kept of all compiled queries together.
 *
 * Invariant: however many documents, operations and conditions are sent, no more plans and fields are kept than the
 * limits. What was used longest ago is dropped first, and prepared anew when it comes again. An execution that is under
 * way goes on with its plan, which is then gone with it.
 */

/** How large a plan is. It grows, as fields are prepared when they are reached. */
export interface PlanSize {
  /** At each place of the document that selects them. */
  fields: number
}

interface PlanLimits {
  readonly maxPlans: number
  readonly maxFields: number
}

/** A plan keeps its document, which the parser may have dropped: as many as the parser remembers. */
const MAX_PLANS = 1_000
/** Of about 800 bytes each. A dashboard's query has 20 to 100. */
const MAX_FIELDS = 50_000

export class KeptPlans {
  readonly #limits: PlanLimits
  /** What forgets each of them; what was used last stands last. */
  readonly #plans = new Map<PlanSize, () => void>()
  #fields = 0
  #made = 0

  constructor(limits: PlanLimits = { maxPlans: MAX_PLANS, maxFields: MAX_FIELDS }) {
    this.#limits = limits
  }

  /** Plans that are kept. */
  get plans(): number {
    return this.#plans.size
  }

  /** Fields of all plans that are kept, counted at each place of a document that selects them. */
  get fields(): number {
    return this.#fields
  }

  /** Plans that were ever made. */
  get made(): number {
    return this.#made
  }

  /** `forget` is called when it is dropped, which may be at once. */
  keep(plan: PlanSize, forget: () => void): void {
    this.#made += 1
    this.#plans.set(plan, forget)
    this.#fields += plan.fields
    this.#dropOldest()
  }

  use(plan: PlanSize): void {
    const forget = this.#plans.get(plan)
    if (forget) {
      this.#plans.delete(plan)
      this.#plans.set(plan, forget)
    }
  }

  grow(plan: PlanSize, fields: number): void {
    plan.fields += fields
    if (this.#plans.has(plan)) {
      this.#fields += fields
      this.#dropOldest()
    }
  }

  #dropOldest(): void {
    const { maxPlans, maxFields } = this.#limits
    for (const [plan, forget] of this.#plans) {
      if (this.#plans.size <= maxPlans && this.#fields <= maxFields) {
        return
      }
      this.#plans.delete(plan)
      this.#fields -= plan.fields
      forget()
    }
  }
}
