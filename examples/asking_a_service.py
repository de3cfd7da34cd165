"""Let a service answer the questions of an interview.

``Service.complete`` stands for anything that answers a text with a text: a language model, a web service, or
colleagues who work through a queue. Here it is a local function, so that the example runs anywhere: it knows
a few words, fails at first, and sometimes gives a useless answer. Replace it with your own service.
"""

from __future__ import annotations

import asyncio

from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from likewise.active import Answer, Interview, Question
from likewise.exceptions import OracleError
from likewise.oracles import CallableOracle

MESSAGES = [
    "Where is my parcel? It was due on Monday.",
    "The courier left the parcel with nobody I know.",
    "Tracking says delivered, but there is no parcel.",
    "My parcel arrived with a hole in it.",
    "Please send me my money back.",
    "I was charged twice and want one payment refunded.",
    "How long does a refund take?",
    "You refunded less money than I paid.",
    "I cannot log in since yesterday.",
    "Please reset my password.",
    "The login page does not know my e-mail.",
    "My password is right, yet I am locked out.",
]
TOPICS = {
    "delivery": ("parcel", "courier", "tracking"),
    "money": ("money", "refund", "charged", "paid"),
    "access": ("log in", "login", "password", "locked"),
}
PROMPT = "Are these two messages about the same kind of problem? Answer yes, no or unsure.\n1. {}\n2. {}"


class Service:
    """A stand-in for a language model, which is slow and sometimes gives useless answers."""

    def __init__(self) -> None:
        self.n_calls = 0

    async def complete(self, prompt: str) -> str:
        """Answer a prompt."""
        self.n_calls += 1
        await asyncio.sleep(0)  # stands for the network
        if self.n_calls == 1:
            raise TimeoutError("the service is waking up")
        if self.n_calls % 7 == 0:
            return "What interesting messages!"
        topics = [
            {name for name, words in TOPICS.items() if any(word in line.lower() for word in words)}
            for line in prompt.splitlines()[1:]
        ]
        if not all(topics):
            return "unsure"
        return "Yes." if topics[0] & topics[1] else "No."


def oracle_of(service: Service, *, budget: int) -> CallableOracle:
    """Return an oracle that sends questions as prompts and repeats them if an answer cannot be parsed."""

    async def ask(question: Question) -> Answer:
        first, second = (MESSAGES[row] for row in question.rows)
        text = await service.complete(PROMPT.format(first, second))
        words = {"yes": Answer.SAME, "no": Answer.DIFFERENT, "unsure": Answer.UNSURE}
        return words[text.strip(" .").lower()]  # a KeyError counts as a failed call

    return CallableOracle(ask, retries=2, budget=budget)


def main() -> None:
    """Run an interview with the service, and print the number of answers and the groups."""
    words = TfidfVectorizer().fit_transform(MESSAGES)
    X = TruncatedSVD(6, random_state=0).fit_transform(words)
    interview = Interview(X, n_clusters=3, random_state=0)
    oracle = oracle_of(Service(), budget=40)
    try:
        while (question := interview.ask()) is not None:
            interview.tell(question, oracle.answer(question), annotator="service")
    except OracleError as error:  # the interview keeps the answers so far and could be saved
        print(f"stopped: {error}")
    print(f"{interview.n_answers} answers for {oracle.n_calls} calls")
    for cluster in range(3):
        print(f"\ngroup {cluster}")
        for message, label in zip(MESSAGES, interview.labels_, strict=True):
            if label == cluster:
                print(f"  {message}")


if __name__ == "__main__":
    main()
