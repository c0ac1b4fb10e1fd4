"""Mistakes that one could make in a Raft, each made on purpose in a copy of ours; some test must notice.

A mutant is one replacement in one module of `steersman.raft.core`. The text to be replaced occurs once, and
`test_named_mutants` says so when the module has moved on.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GUARDS", "MUTANTS", "NamedMutant"]

#: The tests that must notice: fast ones, no chance involved.
GUARDS = ("tests/unit/raft/core", "tests/scenarios/raft")


@dataclass(frozen=True, slots=True)
class NamedMutant:
    name: str
    #: In `steersman.raft.core`, without `.py`.
    module: str
    old: str
    new: str

    @property
    def path(self) -> str:
        return f"raft/core/{self.module}.py"

    def of(self, source: str) -> str:
        assert source.count(self.old) == 1, (
            f"{self.name}: {self.module} has {self.old!r} {source.count(self.old)}×"
        )
        return source.replace(self.old, self.new)


MUTANTS = (
    # Elections
    NamedMutant("a vote is forgotten", "member", "self.vote = request.sender", "pass"),
    NamedMutant("a vote outlives its term", "member", "            self.vote = 0\n", ""),
    NamedMutant("votes for everybody", "member",
                "free = self.vote == request.sender or (self.vote == 0 and self.role.leader == 0)", "free = True"),
    NamedMutant("votes against a known leader", "member",
                "(self.vote == 0 and self.role.leader == 0)", "self.vote == 0"),
    NamedMutant("votes without looking at the log", "member",
                "granted = free and self.log.is_up_to_date(request.last_index, request.last_term)",
                "granted = free"),
    NamedMutant("a longer log beats a newer one", "log",
                "return last_term > own or (last_term == own and last_index >= self.last)",
                "return last_index >= self.last"),
    NamedMutant("a vote leaves before it is durable", "member",
                "(self.messages_after_persist if binding else self.messages).append(answer)",
                "self.messages.append(answer)"),
    NamedMutant("a vote is not synced", "raft", "bool(entries) or promised or", "bool(entries) or"),
    NamedMutant("the own vote counts before it is durable", "candidate",
                "        if self._pre:\n            self._count", "        if True:\n            self._count"),
    NamedMutant("votes are asked for before the log is durable", "candidate",
                "member.messages if self._pre else member.messages_after_persist", "member.messages"),
    NamedMutant("half of the voters elect", "quorum", "len(voters) // 2 + 1 if voters", "(len(voters) + 1) // 2 if voters"),
    NamedMutant("a repeated vote counts twice", "candidate",
                "self._votes.setdefault(voter, granted)",
                "self._votes.setdefault(voter if voter not in self._votes else max(self._votes) + 1, granted)"),
    NamedMutant("a pre-vote raises the term", "raft", "        if not pre:\n", "        if True:\n"),
    NamedMutant("older terms are obeyed", "member", "elif message.term < self.term:", "elif False:"),
    NamedMutant("a leader without a quorum stays", "leader",
                "if member.now >= self._quorum_deadline:", "if False:"),
    NamedMutant("strangers campaign", "member",
                "return votes and", "return"),
    NamedMutant("a removed leader is not there when it is needed", "member",
                "membership.index > self.log.commit and membership.before().votes(self.id)", "False"),
    # Leases
    NamedMutant("candidates are heard while a leader is alive", "member",
                "if self.sticks_to_leader and not message.transfer:", "if False:"),
    NamedMutant("a restart forgets the promise to a leader", "member",
                "self.contact_at = now\n", "self.contact_at = now - config.election_min_s\n"),
    NamedMutant("the lease counts from the answer", "leader",
                "progress.answered(response.round, started_at)",
                "progress.answered(response.round, self._member.now)"),
    NamedMutant("the lease outlasts the promise", "leader",
                "self._confirmed_at + self._member.config.lease_s",
                "self._confirmed_at + self._member.config.election_max_s"),
    NamedMutant("the lease survives a transfer", "leader",
                "        if self.transfer is not None and self.transfer.asked:\n            return -math.inf\n", ""),
    NamedMutant("a failed transfer is taken back", "leader",
                "            if self.transfer.asked:\n                member.become_follower(member.term, 0)\n"
                "            else:\n                self.transfer = None",
                "            self.transfer = None"),
    NamedMutant("the lease of the old voters is kept for the new", "leader",
                "        self.replication.reconcile()\n        self._confirm()", "        self.replication.reconcile()"),
    NamedMutant("the only voter does not wait", "follower",
                "self.deadline = max(member.now, member.contact_at + member.config.election_min_s)",
                "self.deadline = member.now"),
    # Replication
    NamedMutant("entries of older terms are committed by counting (figure 8)", "leader",
                "if index < self._term_start or not", "if not"),
    NamedMutant("half of the voters commit", "quorum", "values[len(values) // 2]", "values[(len(values) - 1) // 2]"),
    NamedMutant("the predecessor is not compared", "follower",
                "elif log.has(request.prev_index, request.prev_term):",
                "elif log.first - 1 <= request.prev_index <= log.last:"),
    NamedMutant("an acknowledgement leaves before its entries are durable", "follower",
                "member.messages_after_persist.append(", "member.messages.append("),
    NamedMutant("entries are not synced", "raft", "must_sync=bool(entries) or promised", "must_sync=promised"),
    NamedMutant("a leader counts its own entries before they are durable", "leader",
                "own.accepted(member.log.stable)", "own.accepted(member.log.last)"),
    NamedMutant("entries are applied before they are durable", "log",
                "high = min(self.commit, self.stable)", "high = self.commit"),
    NamedMutant("a delayed message cuts off newer entries", "log",
                "elif self.term(entry.index) != entry.term:", "elif True:"),
    NamedMutant("an overtaken write counts", "log",
                "            write.last = min(write.last, self.last)\n", "            pass\n"),
    NamedMutant("a snapshot counts before it is durable", "log", "        self.stable = 0\n", "        self.stable = meta.index\n"),
    NamedMutant("a follower commits what it has not compared", "follower",
                "log.commit_to(min(request.commit, known))", "log.commit_to(min(request.commit, log.last))"),
    NamedMutant("a heartbeat commits what a member may not have", "replication",
                "commit=min(commit, progress.match)", "commit=commit"),
    NamedMutant("a lost message is never repeated", "replication",
                "            self._append(id_, progress.next - 1, ())\n", "            pass\n"),
    # Reads
    NamedMutant("a read trusts an older round", "leader",
                "            self._start_round()\n            self._reads.bind", "            self._reads.bind"),
    NamedMutant("a new leader answers reads at once", "leader",
                "if self._reads.waiting and self._has_committed:", "if self._reads.waiting:"),
    NamedMutant("a new leader answers lease reads at once", "leader",
                "if lease and self._has_committed and", "if lease and"),
    NamedMutant("a lease read without a lease", "leader", " and self._member.now < self.lease_until:", ":"),
    NamedMutant("a read is answered before it is applied", "raft",
                "if read.index <= self.log.delivered]", "if read.index <= self.log.last]"),
    # Membership
    NamedMutant("two changes at once", "leader",
                "if member.membership.index > member.log.commit:", "if False:"),
    NamedMutant("a new leader changes the membership at once", "leader",
                "        if not self._has_committed:", "        if False:"),
    NamedMutant("a truncated change stays in force", "member",
                "            self.membership.truncate(new[0].index)\n            self._note_changes(self.membership, new)",
                "            self._note_changes(self.membership, [e for e in new if e.index > self.membership.index])"),
    NamedMutant("a joint majority is the new one alone", "membership",
                "return (self.voters, self.outgoing) if self.outgoing else (self.voters,)",
                "return (self.voters,)"),
    NamedMutant("learners count", "membership", "else (self.voters,)", "else (self.voters | self.learners,)"),
    NamedMutant("two voters change at once", "membership",
                "if len(draft.voters ^ before.voters) > 1:", "if len(draft.voters ^ before.voters) > 2:"),
    NamedMutant("a removed leader stays", "leader", "        elif not configuration.votes(member.id):", "        elif False:"),
    NamedMutant("a learner is promoted however far behind", "leader",
                "if behind > member.config.promotion_lag:", "if False:"),
    NamedMutant("a change may leave no majority that answers", "leader",
                "if agreed(after.halves, self.replication.acked_at(), -math.inf) <= recent:", "if False:"),
)  # fmt: skip
