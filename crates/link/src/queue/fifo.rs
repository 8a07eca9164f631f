//! A queue without active queue management, from which packets in the middle can also be removed.

use std::collections::VecDeque;

use super::Waiting;
use crate::Backlog;

#[derive(Clone, Debug)]
pub(crate) struct Fifo<P> {
    waiting: VecDeque<Waiting<P>>,
    backlog: Backlog,
}

impl<P> Fifo<P> {
    pub(crate) fn new() -> Self {
        Self { waiting: VecDeque::new(), backlog: Backlog::default() }
    }

    pub(crate) fn push(&mut self, waiting: Waiting<P>) {
        self.backlog.add(waiting.bytes);
        self.waiting.push_back(waiting);
    }

    pub(crate) fn front(&self) -> Option<&Waiting<P>> {
        self.waiting.front()
    }

    pub(crate) fn pop_front(&mut self) -> Option<Waiting<P>> {
        self.remove(0)
    }

    /// Removes a packet from the middle of the queue.
    pub(crate) fn remove(&mut self, index: usize) -> Option<Waiting<P>> {
        let gone = self.waiting.remove(index)?;
        self.backlog.remove(gone.bytes);
        Some(gone)
    }

    pub(crate) fn backlog(&self) -> Backlog {
        self.backlog
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Waiting<P>> {
        self.waiting.iter()
    }
}
