//! Ranks that are threads of one process.

use core::{fmt, time::Duration};
use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use backend_api::CollectiveError;

use crate::{Call, Message, Staged, Transport};

/// Default time that ranks wait for a missing rank: ten minutes.
pub const PATIENCE: Duration = Duration::from_mins(10);

/// A rank that is a thread of this process, or is used by one.
pub struct Local {
    rank: usize,
    group: Arc<LocalGroup>,
}

struct LocalGroup {
    patience: Duration,
    state: Mutex<ExchangeState>,
    /// Something in the state is another.
    changed: Condvar,
}

struct ExchangeState {
    /// For each rank its post in the current exchange.
    posts: Vec<Option<Post>>,
    /// Which ranks took what came for them.
    taken: Vec<bool>,
    gone: Vec<bool>,
    /// Why there are no more exchanges.
    failure: Option<CollectiveError>,
}

struct Post {
    call: Call,
    /// For each rank.
    parts: Vec<Arc<[u32]>>,
}

impl Local {
    /// A group of `ranks` ranks, one for each thread.
    #[must_use]
    pub fn group(ranks: usize) -> Vec<Staged<Self>> {
        Self::patient_group(ranks, PATIENCE)
    }

    /// Creates a group whose ranks wait up to `patience` for a missing rank.
    ///
    /// The ranks of [`group`](Self::group) wait ten minutes.
    #[must_use]
    pub fn patient_group(ranks: usize, patience: Duration) -> Vec<Staged<Self>> {
        let state = ExchangeState {
            posts: (0..ranks).map(|_| None).collect(),
            taken: vec![false; ranks],
            gone: vec![false; ranks],
            failure: None,
        };
        let group = Arc::new(LocalGroup { patience, state: Mutex::new(state), changed: Condvar::new() });
        (0..ranks).map(|rank| Staged::new(Self { rank, group: Arc::clone(&group) })).collect()
    }
}

impl Local {
    /// How long this rank waits for one that does not come.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.group.patience
    }
}

impl LocalGroup {
    fn lock(&self) -> MutexGuard<'_, ExchangeState> {
        // A panic leaves the state consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `is_done`, or until the group fails before.
    ///
    /// While it waits, a rank that is gone, or that has not come when patience ends, fails the
    /// group: one that `lacks`.
    fn wait<'s>(
        &'s self,
        mut state: MutexGuard<'s, ExchangeState>,
        call: &Call,
        is_done: impl Fn(&ExchangeState) -> bool,
        lacks: impl Fn(&ExchangeState, usize) -> bool,
    ) -> Result<MutexGuard<'s, ExchangeState>, CollectiveError> {
        let end = Instant::now() + self.patience;
        loop {
            if is_done(&state) {
                return Ok(state);
            }
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            let mut lacking = (0..state.gone.len()).filter(|&rank| lacks(&state, rank));
            let gone = lacking.clone().find(|&rank| state.gone[rank]);
            let left = end.saturating_duration_since(Instant::now());
            let failure = match (gone, lacking.next()) {
                (Some(rank), _) => Some(CollectiveError::Gone { rank }),
                (None, Some(rank)) if left.is_zero() => {
                    Some(CollectiveError::Stalled { rank, call: call.to_string(), seconds: self.patience.as_secs() })
                }
                _ => None,
            };
            if failure.is_some() {
                state.failure = failure;
                self.changed.notify_all();
                continue;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl ExchangeState {
    /// The first rank that came with another call than rank 0, if all have come.
    fn disagreement(&self) -> Option<CollectiveError> {
        let calls: Option<Vec<&Call>> = self.posts.iter().map(|post| Some(&post.as_ref()?.call)).collect();
        let calls = calls?;
        let rank = calls.iter().position(|call| *call != calls[0])?;
        let (expected, got) = (calls[0].to_string(), calls[rank].to_string());
        Some(CollectiveError::Disagrees { rank, expected, got })
    }
}

impl Transport for Local {
    type Received = Arc<[u32]>;

    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.group.lock().gone.len()
    }

    fn exchange(&self, call: &Call, message: Message<'_>) -> Result<Vec<Arc<[u32]>>, CollectiveError> {
        let ranks = self.ranks();
        let parts = match message {
            Message::Same(words) => vec![Arc::from(words); ranks],
            Message::Each(parts) => parts.iter().map(|&part| Arc::from(part)).collect(),
        };
        let group = &self.group;
        // Of the exchange before, all others have to take what came for them.
        let mut state = group.wait(
            group.lock(),
            call,
            |state| state.posts[self.rank].is_none(),
            |state, rank| !state.taken[rank],
        )?;
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        state.posts[self.rank] = Some(Post { call: call.clone(), parts });
        state.failure = state.disagreement();
        group.changed.notify_all();
        // To what all have come, nothing that a rank does later changes anything.
        let is_whole =
            |state: &ExchangeState| state.posts.iter().all(Option::is_some) && state.disagreement().is_none();
        let mut state = group.wait(state, call, is_whole, |state, rank| state.posts[rank].is_none())?;
        let received = state.posts.iter().flatten().map(|post| Arc::clone(&post.parts[self.rank])).collect();
        state.taken[self.rank] = true;
        if state.taken.iter().all(|&taken| taken) {
            state.taken.fill(false);
            state.posts.fill_with(|| None);
            group.changed.notify_all();
        }
        Ok(received)
    }

    fn failure(&self) -> Option<CollectiveError> {
        self.group.lock().failure.clone()
    }

    fn fail(&self, why: CollectiveError) {
        self.group.lock().failure.get_or_insert(why);
        self.group.changed.notify_all();
    }
}

impl Drop for Local {
    /// Others that wait for this rank, or will, fail.
    fn drop(&mut self) {
        self.group.lock().gone[self.rank] = true;
        self.group.changed.notify_all();
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("rank", &self.rank).field("ranks", &self.ranks()).finish_non_exhaustive()
    }
}
