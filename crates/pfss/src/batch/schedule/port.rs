//! Submissions of a task to its executor, and the tickets for their results.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

use super::layer::LayerPlanner;
use crate::{
    KeyBundle, MaskedKeys, PfssError, Shares,
    batch::{exchange::Opening, job::Job},
    error::{BatchError, Class},
};

/// Something submitted to a [`Port`], whose result comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(u64);

/// Where tasks of a phase submit openings and gates, and fetch what came of them.
pub struct Port<'a> {
    next: u64,
    waiting: BTreeSet<Ticket>,
    pub(super) openings: Vec<(Ticket, Opening)>,
    pub(super) jobs: [Vec<(Ticket, Job<'a>)>; 2],
    opened: BTreeMap<Ticket, Vec<u64>>,
    shares: BTreeMap<Ticket, Shares>,
    pub(super) layer: LayerPlanner,
    /// Whether something was submitted or fetched: set whenever a task makes progress.
    pub(super) moved: bool,
}

impl<'a> Port<'a> {
    pub(super) fn new(layer: LayerPlanner) -> Self {
        Self {
            next: 0,
            waiting: BTreeSet::new(),
            openings: Vec::new(),
            jobs: [Vec::new(), Vec::new()],
            opened: BTreeMap::new(),
            shares: BTreeMap::new(),
            layer,
            moved: false,
        }
    }

    /// Requests the opening of `x + r`, and spends `bundle`.
    ///
    /// The words come from this party's shares of `x` and the masks of `bundle`.
    ///
    /// # Errors
    /// As [`KeyBundle::mask`].
    pub fn open_input(&mut self, bundle: KeyBundle, x: &[u64]) -> Result<(Ticket, MaskedKeys), PfssError> {
        Ok(self.open(bundle.mask(x)?))
    }

    /// Asks for the masked factors of a [product](crate::Task::Product) to be opened.
    ///
    /// # Errors
    /// As [`KeyBundle::mask_factors`].
    pub fn open_factors(&mut self, bundle: KeyBundle, [x, y]: [&[u64]; 2]) -> Result<(Ticket, MaskedKeys), PfssError> {
        Ok(self.open(bundle.mask_factors(x, y)?))
    }

    fn open(&mut self, masked: (Vec<u64>, MaskedKeys)) -> (Ticket, MaskedKeys) {
        let ((opening, keys), ticket) = (Opening::of(masked), self.ticket());
        self.openings.push((ticket, opening));
        (ticket, keys)
    }

    /// Submits a gate for the next flush of its class.
    ///
    /// # Errors
    /// [`BatchError::Limit`] for the layer's limits; the batch's own checks run at the flush.
    pub fn submit(&mut self, class: Class, job: Job<'a>) -> Result<Ticket, PfssError> {
        self.layer.add(job.x_hat.len() as u64, job.keys.gate().n())?;
        let ticket = self.ticket();
        self.jobs[class.index()].push((ticket, job));
        Ok(ticket)
    }

    /// What was opened, given out once; `None` until it is there.
    ///
    /// # Errors
    /// [`BatchError::Ticket`] for a ticket that is not for an opening, or whose opening was fetched
    /// already.
    pub fn opened(&mut self, ticket: Ticket) -> Result<Option<Vec<u64>>, BatchError> {
        let found = self.opened.remove(&ticket);
        self.fetched(ticket, found)
    }

    /// A gate's shares, given out once; `None` until they are there.
    ///
    /// # Errors
    /// [`BatchError::Ticket`] for a ticket that is not for a gate, or whose shares were fetched
    /// already.
    pub fn shares(&mut self, ticket: Ticket) -> Result<Option<Shares>, BatchError> {
        let found = self.shares.remove(&ticket);
        self.fetched(ticket, found)
    }

    fn fetched<T>(&mut self, ticket: Ticket, found: Option<T>) -> Result<Option<T>, BatchError> {
        if found.is_some() {
            self.moved = true;
        } else if !self.waiting.contains(&ticket) {
            return Err(BatchError::Ticket { got: ticket.0 });
        }
        Ok(found)
    }

    fn ticket(&mut self) -> Ticket {
        let ticket = Ticket(self.next);
        self.next += 1;
        self.moved = true;
        self.waiting.insert(ticket);
        ticket
    }

    pub(super) fn deliver_opened(&mut self, ticket: Ticket, words: Vec<u64>) {
        self.waiting.remove(&ticket);
        self.opened.insert(ticket, words);
    }

    pub(super) fn deliver_shares(&mut self, ticket: Ticket, shares: Shares) {
        self.waiting.remove(&ticket);
        self.shares.insert(ticket, shares);
    }

    /// Words that wait to be opened.
    pub(super) fn open_words(&self) -> usize {
        self.openings.iter().map(|(_, opening)| opening.words()).sum()
    }
}

impl fmt::Debug for Port<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port")
            .field("openings", &self.openings.len())
            .field("jobs", &self.jobs.each_ref().map(Vec::len))
            .field("opened", &self.opened.len())
            .field("shares", &self.shares.len())
            .finish_non_exhaustive()
    }
}
