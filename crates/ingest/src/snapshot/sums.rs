//! Live bytes by who asked for them, and what became more from one snapshot to the next.

use std::collections::HashMap;

use super::stack::{Frame, StackId};
use super::{Snapshot, State};

/// Some blocks together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Bytes as asked for.
    pub bytes: u64,
    /// How many.
    pub blocks: u64,
}

impl Amount {
    /// One more block.
    pub fn add(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.blocks += 1;
    }

    /// One less.
    pub fn take(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
        self.blocks = self.blocks.saturating_sub(1);
    }

    fn join(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.blocks = self.blocks.saturating_add(other.blocks);
    }
}

/// Amounts by stack; what has none together.
#[derive(Clone, Debug, Default)]
pub struct ByStack {
    /// By the stack's number.
    pub stacks: Vec<Amount>,
    /// Asked for by nobody that was recorded.
    pub unknown: Amount,
}

impl ByStack {
    /// Room for the stacks of a snapshot.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        Self { stacks: vec![Amount::default(); snapshot.stacks.len()], unknown: Amount::default() }
    }

    /// The amount of a stack.
    pub fn of_stack(&mut self, stack: Option<StackId>) -> &mut Amount {
        stack.and_then(|stack| self.stacks.get_mut(stack.index())).unwrap_or(&mut self.unknown)
    }

    /// All of it.
    #[must_use]
    pub fn total(&self) -> Amount {
        let mut total = self.unknown;
        self.stacks.iter().for_each(|amount| total.join(*amount));
        total
    }
}

/// What lives of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The line that matters of its stacks; `None` for all that has none.
    pub site: Option<Frame<'a>>,
    /// How much.
    pub amount: Amount,
    /// The stack with most of it.
    pub stack: Option<StackId>,
}

/// What is allocated on a device, by stack.
#[must_use]
pub fn live(snapshot: &Snapshot, device: u32) -> ByStack {
    let mut live = ByStack::of(snapshot);
    for segment in snapshot.segments.iter().filter(|segment| segment.device == device) {
        for block in snapshot.blocks(segment).iter().filter(|block| block.state == State::Allocated) {
            let asked = snapshot.asked(block);
            live.of_stack(asked.stack).add(asked.size);
        }
    }
    live
}

/// Amounts by the line that matters, the most first.
#[must_use]
pub fn by_line<'a>(snapshot: &'a Snapshot, by_stack: &ByStack) -> Vec<Line<'a>> {
    let mut lines: HashMap<_, (Amount, u64, Option<StackId>)> = HashMap::new();
    for (number, amount) in by_stack.stacks.iter().enumerate().filter(|(_, amount)| amount.blocks > 0) {
        let stack = StackId::from_index(number);
        let line = lines.entry(snapshot.stacks.site_id(stack)).or_default();
        line.0.join(*amount);
        if line.2.is_none() || amount.bytes > line.1 {
            (line.1, line.2) = (amount.bytes, Some(stack));
        }
    }
    if by_stack.unknown.blocks > 0 {
        lines.entry(None).or_default().0.join(by_stack.unknown);
    }
    let named =
        |(site, (amount, _, stack)): (Option<_>, _)| Line { site: site.map(|id| snapshot.stacks.frame(id)), amount, stack };
    let mut lines: Vec<Line<'a>> = lines.into_iter().map(named).collect();
    lines.sort_by(|a, b| b.amount.bytes.cmp(&a.amount.bytes).then_with(|| a.site.cmp(&b.site)));
    lines
}

/// A line in two snapshots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// The line; `None` for all that has none.
    pub site: Option<Frame<'a>>,
    /// In the first.
    pub before: Amount,
    /// In the second.
    pub after: Amount,
    /// The stack with most of it in the second.
    pub stack: Option<StackId>,
}

impl Change<'_> {
    /// More bytes than before.
    #[must_use]
    pub fn bytes(&self) -> i64 {
        signed(self.after.bytes) - signed(self.before.bytes)
    }

    /// More blocks than before.
    #[must_use]
    pub fn blocks(&self) -> i64 {
        signed(self.after.blocks) - signed(self.before.blocks)
    }
}

fn signed(value: u64) -> i64 {
    // Half of what fits, so that a difference does, too.
    value.min(i64::MAX as u64 / 2) as i64
}

/// What changed from one snapshot's lines to another's, the most growth first.
#[must_use]
pub fn changes<'a>(before: &[Line<'a>], after: &[Line<'a>]) -> Vec<Change<'a>> {
    let mut changes: HashMap<Option<Frame<'a>>, Change<'a>> = HashMap::new();
    for line in before {
        let new = Change { site: line.site, before: line.amount, after: Amount::default(), stack: None };
        changes.insert(line.site, new);
    }
    for line in after {
        let new = Change { site: line.site, before: Amount::default(), after: Amount::default(), stack: None };
        let change = changes.entry(line.site).or_insert(new);
        (change.after, change.stack) = (line.amount, line.stack);
    }
    let mut changes: Vec<Change<'a>> = changes.into_values().collect();
    changes.sort_by(|a, b| b.bytes().cmp(&a.bytes()).then_with(|| a.site.cmp(&b.site)));
    changes
}
