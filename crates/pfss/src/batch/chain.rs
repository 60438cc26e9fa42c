use core::fmt;
use std::collections::VecDeque;

use super::{Class, Job, Need, PhaseTask, Port, Ticket, job::Kind};
use crate::{KeyBundle, MaskedKeys, PfssError, Task};

/// Gates one after the other, each on the words of the one before.
pub struct GateChain<'a> {
    gates: VecDeque<(Class, Kind<'a>, KeyBundle)>,
    state: State<'a>,
}

/// Where a gate is evaluated, what it computes, and its keys.
type Gate<'a> = (Class, Kind<'a>, MaskedKeys);

enum State<'a> {
    /// The words so far.
    Idle(Vec<u64>),
    /// The input of a gate, which these keys evaluate, is being opened.
    Opening(Ticket, Box<Gate<'a>>),
    /// A gate is being evaluated.
    Running(Ticket, Class),
}

impl<'a> GateChain<'a> {
    /// No gates yet, on this party's shares of the inputs.
    #[must_use]
    pub fn on(x: Vec<u64>) -> Self {
        Self { gates: VecDeque::new(), state: State::Idle(x) }
    }

    /// A further gate.
    #[must_use]
    pub fn then(mut self, class: Class, task: Task<'a>, bundle: KeyBundle) -> Self {
        self.gates.push_back((class, Kind::Task(task), bundle));
        self
    }

    /// A further gate, given by the descriptor of its keys.
    #[must_use]
    pub fn then_suf(mut self, class: Class, bundle: KeyBundle) -> Self {
        self.gates.push_back((class, Kind::Suf, bundle));
        self
    }

    /// This party's shares of the words of the last gate, when it is done.
    #[must_use]
    pub fn into_words(self) -> Option<Vec<u64>> {
        match self.state {
            State::Idle(words) if self.gates.is_empty() => Some(words),
            _ => None,
        }
    }
}

impl<'a> PhaseTask<'a> for GateChain<'a> {
    fn step(&mut self, port: &mut Port<'a>) -> Result<Need, PfssError> {
        loop {
            let state = core::mem::replace(&mut self.state, State::Idle(Vec::new()));
            let (next, need) = match state {
                State::Idle(x) => match self.gates.pop_front() {
                    None => (State::Idle(x), Some(Need::None)),
                    Some((class, kind, bundle)) => {
                        let (ticket, keys) = port.open_input(bundle, &x)?;
                        (State::Opening(ticket, Box::new((class, kind, keys))), None)
                    }
                },
                State::Opening(ticket, gate) => match port.opened(ticket)? {
                    None => (State::Opening(ticket, gate), Some(Need::Open)),
                    Some(x_hat) => {
                        let (class, kind, keys) = *gate;
                        let job = Job::new(kind, keys, x_hat);
                        (State::Running(port.submit(class, job)?, class), None)
                    }
                },
                State::Running(ticket, class) => match port.shares(ticket)? {
                    None => (State::Running(ticket, class), Some(Need::of(class))),
                    Some(shares) => (State::Idle(shares.into_words()), None),
                },
            };
            self.state = next;
            if let Some(need) = need {
                return Ok(need);
            }
        }
    }

    fn is_done(&self) -> bool {
        self.gates.is_empty() && matches!(self.state, State::Idle(_))
    }
}

impl fmt::Debug for GateChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateChain").field("gates", &self.gates.len()).field("done", &self.is_done()).finish()
    }
}
