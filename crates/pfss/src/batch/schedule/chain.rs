//! Gates in a row as one task of an executor.

use core::fmt;
use std::collections::VecDeque;

use super::{
    executor::{Need, PhaseTask},
    port::{Port, Ticket},
};
use crate::{KeyBundle, MaskedKeys, PfssError, Task, batch::job::Job, error::Class};

/// Gates one after the other, each on the output words of the one before.
pub struct GateChain<'a> {
    gates: VecDeque<(Class, Task<'a>, KeyBundle)>,
    /// Whether the last gate so far masks its outputs.
    masked: bool,
    state: ChainState<'a>,
}

/// The class of a gate, its task, and its keys.
type Gate<'a> = (Class, Task<'a>, MaskedKeys);

enum ChainState<'a> {
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
        Self { gates: VecDeque::new(), masked: false, state: ChainState::Idle(x) }
    }

    /// A further gate.
    ///
    /// Only the last gate may have [masked outputs](crate::Gate::with_masked_outputs), since a gate
    /// takes shares of results. A refusal spends and opens nothing.
    ///
    /// # Errors
    /// [`PfssError::MaskedOutputs`] after a gate that masks its outputs, [`PfssError::OpenInputs`]
    /// for keys whose inputs come already opened from an earlier gate, and [`PfssError::Kind`] and
    /// the like for keys that do not fit the task.
    pub fn then(mut self, class: Class, task: Task<'a>, bundle: KeyBundle) -> Result<Self, PfssError> {
        let inputs = bundle.gate().inputs() * bundle.count();
        task.check_keys(&bundle, inputs)?;
        task.plan(bundle.gate())?;
        if self.masked {
            return Err(PfssError::MaskedOutputs);
        }
        bundle.check_mask(inputs)?;
        self.masked = bundle.gate().masks_outputs();
        self.gates.push_back((class, task, bundle));
        Ok(self)
    }

    /// This party's shares of the words of the last gate, when it is done.
    #[must_use]
    pub fn into_words(self) -> Option<Vec<u64>> {
        match self.state {
            ChainState::Idle(words) if self.gates.is_empty() => Some(words),
            _ => None,
        }
    }
}

impl<'a> PhaseTask<'a> for GateChain<'a> {
    fn step(&mut self, port: &mut Port<'a>) -> Result<Need, PfssError> {
        loop {
            let state = core::mem::replace(&mut self.state, ChainState::Idle(Vec::new()));
            let (next, need) = match state {
                ChainState::Idle(x) => match self.gates.pop_front() {
                    None => (ChainState::Idle(x), Some(Need::None)),
                    Some((class, task, bundle)) => {
                        let (ticket, keys) = port.open_input(bundle, &x)?;
                        (ChainState::Opening(ticket, Box::new((class, task, keys))), None)
                    }
                },
                ChainState::Opening(ticket, gate) => match port.opened(ticket)? {
                    None => (ChainState::Opening(ticket, gate), Some(Need::Open)),
                    Some(x_hat) => {
                        let (class, task, keys) = *gate;
                        let job = Job::new(task, keys, x_hat);
                        (ChainState::Running(port.submit(class, job)?, class), None)
                    }
                },
                ChainState::Running(ticket, class) => match port.shares(ticket)? {
                    None => (ChainState::Running(ticket, class), Some(Need::of(class))),
                    Some(shares) => (ChainState::Idle(shares.words), None),
                },
            };
            self.state = next;
            if let Some(need) = need {
                return Ok(need);
            }
        }
    }

    fn is_done(&self) -> bool {
        self.gates.is_empty() && matches!(self.state, ChainState::Idle(_))
    }
}

impl fmt::Debug for GateChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GateChain").field("gates", &self.gates.len()).field("done", &self.is_done()).finish()
    }
}
