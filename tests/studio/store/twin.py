"""A simple reference implementation of the store's queue: two dictionaries, no database."""


class TwinQueue:
    def __init__(self):
        self.questions = {}  # all known questions, by id
        self.place = {}  # order in which they are offered
        self.queued = set()
        self.leases = {}  # (id, person): (state, until)

    def states(self, id):
        return {person: state for (other, person), state in self.leases.items() if other == id}

    def in_order(self, ids):
        return sorted(ids, key=self.place.get)

    def refill(self, new, now=None):
        for id in list(self.queued):
            states = self.states(id)
            if not states:
                del self.questions[id], self.place[id]
            if not any(
                state == "answered" or (state == "held" and (now is None or until > now))
                for state, until in states.values()
            ):
                self.queued.remove(id)
        last = max(self.place.values(), default=0)
        for place, question in enumerate(new, start=last + 1):
            self.questions.setdefault(question.id, question)
            if question.id not in self.queued:
                self.queued.add(question.id)
                self.place[question.id] = place

    def free(self, id, person, now, overlap):
        states = self.states(id)
        state, _ = states.pop(person, ("", 0))
        if state in ("answered", "skipped"):
            return False
        return sum(s == "answered" or (s == "held" and end > now) for s, end in states.values()) < overlap

    def lease(self, person, n, *, now, until, overlap):
        held = {id for id, who in self.leases if who == person and self.leases[id, who][0] == "held"}
        held = self.in_order(id for id in held if self.leases[id, person][1] > now)
        chosen = held[:n]
        if len(held) < n:
            for id in list(self.queued):
                if sum(state == "answered" for state, _ in self.states(id).values()) >= overlap:
                    self.queued.remove(id)
            others = self.in_order(self.queued - set(held))
            chosen += [id for id in others if self.free(id, person, now, overlap)][: n - len(held)]
        for id in chosen:
            self.leases[id, person] = ("held", until)
        return [(self.questions[id], until) for id in chosen]

    def question(self, id):
        return self.questions.get(id)

    def was_leased(self, id, person):
        return (id, person) in self.leases

    def answered(self, id, person):
        self.leases[id, person] = ("answered", 0.0)

    def skipped(self, id, person):
        self.leases[id, person] = ("skipped", 0.0)

    def reopen(self, id, person, *, now, until, overlap):
        others = [lease for (other, who), lease in self.leases.items() if other == id and who != person]
        taken = sum(state == "answered" or (state == "held" and end > now) for state, end in others)
        self.leases[id, person] = ("held", until) if taken < overlap else ("released", 0.0)

    def release(self, person, ids=None):
        for (id, who), (state, _) in list(self.leases.items()):
            if who == person and state == "held" and (ids is None or id in ids):
                self.leases[id, who] = ("released", 0.0)

    def open_leases(self, now):
        live = {id for (id, _), (state, until) in self.leases.items() if state == "held" and until > now}
        return [self.questions[id] for id in self.in_order(live)]
