//! The state of a rank's group.

use std::sync::{Mutex, MutexGuard, PoisonError};

use backend_api::CollectiveError;

/// Why the group fails, if it does: for all threads of this rank.
#[derive(Debug, Default)]
pub(crate) struct SharedFailure {
    failure: Mutex<Option<GroupFailure>>,
}

#[derive(Clone, Debug)]
struct GroupFailure {
    why: CollectiveError,
    /// Exchanges that the failing rank had completed; the others complete the same number.
    after: u64,
    /// Whether the other ranks were notified.
    told: bool,
}

impl SharedFailure {
    fn lock(&self) -> MutexGuard<'_, Option<GroupFailure>> {
        // A panic leaves the state consistent.
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The group fails by this rank, if it has not failed before. Others are to be told.
    pub(crate) fn fail(&self, why: CollectiveError) {
        self.lock().get_or_insert(GroupFailure { why, after: 0, told: false });
    }

    /// Records another rank's notice that the group failed after `after` exchanges.
    pub(crate) fn has_failed(&self, why: CollectiveError, after: u64) {
        let mut failure = self.lock();
        if failure.as_ref().is_none_or(|known| after < known.after) {
            *failure = Some(GroupFailure { why, after, told: true });
        }
    }

    /// The failure of exchange number `exchange`, counted from 0, if it fails.
    pub(crate) fn failure_of(&self, exchange: u64) -> Option<CollectiveError> {
        self.lock().as_ref().filter(|failure| failure.after <= exchange).map(|failure| failure.why.clone())
    }

    /// Why exchanges fail from some one on.
    pub(crate) fn failure(&self) -> Option<CollectiveError> {
        self.lock().as_ref().map(|failure| failure.why.clone())
    }

    /// What others are to be told, once.
    pub(crate) fn to_tell(&self) -> Option<CollectiveError> {
        let mut failure = self.lock();
        let failure = failure.as_mut().filter(|failure| !failure.told)?;
        failure.told = true;
        Some(failure.why.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: CollectiveError = CollectiveError::GaveUp { rank: 0 };
    const OTHER: CollectiveError = CollectiveError::GaveUp { rank: 1 };

    #[test]
    fn the_first_failure_stays_and_is_told_once() {
        let group = SharedFailure::default();
        assert_eq!((group.failure_of(7), group.failure(), group.to_tell()), (None, None, None));
        group.fail(OWN);
        group.fail(OTHER);
        group.has_failed(OTHER, 3);
        assert_eq!(group.failure_of(0), Some(OWN));
        assert_eq!((group.to_tell(), group.to_tell()), (Some(OWN), None));
    }

    #[test]
    fn a_failure_after_an_exchange_leaves_it_whole() {
        let group = SharedFailure::default();
        group.has_failed(OTHER, 3);
        assert_eq!((group.failure_of(2), group.failure_of(3)), (None, Some(OTHER)));
        assert_eq!(group.failure(), Some(OTHER));
        assert_eq!(group.to_tell(), None, "who said it told all");
        // Another rank did not come so far.
        group.has_failed(CollectiveError::Gone { rank: 2 }, 2);
        assert_eq!(group.failure_of(2), Some(CollectiveError::Gone { rank: 2 }));
    }
}
