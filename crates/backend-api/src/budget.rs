//! The byte budget of a queue: reservations that are taken before memory is.

use core::fmt;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use crate::BackendError;

/// A limit on live bytes, shared by every allocation made under it.
///
/// It reserves rather than just counts: bytes are taken before memory is, and a request beyond the
/// limit fails without side effects.
///
/// ```
/// use backend_api::Budget;
///
/// let budget = Budget::new(1024);
/// let half = budget.reserve(512)?;
/// assert!(budget.reserve(513).is_err());
/// drop(half);
/// assert_eq!(budget.live_bytes(), 0);
/// assert_eq!(budget.peak_bytes(), 512);
/// # Ok::<(), backend_api::BackendError>(())
/// ```
#[derive(Clone)]
pub struct Budget {
    inner: Arc<BudgetCounters>,
}

struct BudgetCounters {
    limit: u64,
    live: AtomicU64,
    peak: AtomicU64,
}

impl Budget {
    /// A budget of `limit_bytes`.
    #[must_use]
    pub fn new(limit_bytes: u64) -> Self {
        Self {
            inner: Arc::new(BudgetCounters { limit: limit_bytes, live: AtomicU64::new(0), peak: AtomicU64::new(0) }),
        }
    }

    /// A budget that only counts.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::new(u64::MAX)
    }

    /// The limit in bytes; `u64::MAX` when unlimited.
    #[must_use]
    pub fn limit_bytes(&self) -> u64 {
        self.inner.limit
    }

    /// Bytes reserved now.
    #[must_use]
    pub fn live_bytes(&self) -> u64 {
        self.inner.live.load(Ordering::Acquire)
    }

    /// The most bytes ever reserved at once.
    #[must_use]
    pub fn peak_bytes(&self) -> u64 {
        self.inner.peak.load(Ordering::Acquire)
    }

    /// Takes `bytes` from the budget until the returned guard is dropped.
    ///
    /// # Errors
    /// [`BackendError::BudgetExceeded`] if fewer bytes are free; the budget is then unchanged.
    pub fn reserve(&self, bytes: u64) -> Result<Reservation, BackendError> {
        if bytes == 0 {
            return Ok(Reservation { budget: None, bytes });
        }
        let taken = self.inner.live.fetch_update(Ordering::AcqRel, Ordering::Acquire, |live| {
            live.checked_add(bytes).filter(|&total| total <= self.inner.limit)
        });
        match taken {
            Ok(before) => {
                self.inner.peak.fetch_max(before + bytes, Ordering::AcqRel);
                Ok(Reservation { budget: Some(self.clone()), bytes })
            }
            Err(live) => Err(BackendError::BudgetExceeded {
                need_bytes: bytes,
                free_bytes: self.inner.limit - live,
                limit_bytes: self.inner.limit,
            }),
        }
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("limit_bytes", &self.limit_bytes())
            .field("live_bytes", &self.live_bytes())
            .field("peak_bytes", &self.peak_bytes())
            .finish()
    }
}

/// Bytes taken from a [`Budget`]; dropping it gives them back.
#[derive(Debug)]
#[must_use = "a dropped reservation reserves nothing"]
pub struct Reservation {
    /// `None` for no bytes.
    budget: Option<Budget>,
    bytes: u64,
}

impl Reservation {
    /// The bytes held.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(budget) = &self.budget {
            budget.inner.live.fetch_sub(self.bytes, Ordering::AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_fit_passes_and_one_byte_more_is_refused_with_the_numbers() {
        let budget = Budget::new(100);
        let held = budget.reserve(60).unwrap();
        assert_eq!(
            budget.reserve(41).unwrap_err(),
            BackendError::BudgetExceeded { need_bytes: 41, free_bytes: 40, limit_bytes: 100 }
        );
        let rest = budget.reserve(40).unwrap();
        assert_eq!(budget.live_bytes(), 100);
        drop((held, rest));
        assert_eq!(budget.live_bytes(), 0);
        assert_eq!(budget.peak_bytes(), 100);
    }

    #[test]
    fn no_bytes_always_fit() {
        let budget = Budget::new(0);
        assert_eq!(budget.reserve(0).unwrap().bytes(), 0);
        assert_eq!(budget.live_bytes(), 0);
    }

    #[test]
    fn a_request_that_wraps_is_refused() {
        let budget = Budget::unlimited();
        let _held = budget.reserve(10).unwrap();
        assert!(matches!(budget.reserve(u64::MAX), Err(BackendError::BudgetExceeded { .. })));
    }

    #[test]
    fn random_traces_never_exceed_the_limit() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..10_000 {
            let budget = Budget::new(1 << 10);
            let mut held = Vec::new();
            for _ in 0..16 {
                if rng.bool() {
                    held.extend(budget.reserve(rng.u64(..0x200)));
                } else {
                    held.pop();
                }
                assert_eq!(budget.live_bytes(), held.iter().map(Reservation::bytes).sum::<u64>());
                assert!(budget.live_bytes() <= budget.limit_bytes());
            }
        }
    }
}
