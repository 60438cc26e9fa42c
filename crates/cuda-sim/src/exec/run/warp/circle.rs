//! Whether a warp goes in circles.

/// Detection of repeating states of a warp.
///
/// Brent, "An Improved Monte Carlo Factorization Algorithm".
#[derive(Default)]
pub(in crate::exec::run) struct Circle {
    epoch: u64,
    /// A state that may come again.
    state: u64,
    looks: u64,
    /// The look at which another state takes its place.
    next: u64,
    closed: bool,
}

impl Circle {
    /// Adds the state of the warp in `epoch`, the number of turns that made progress.
    pub(in crate::exec::run) fn look(&mut self, epoch: u64, state: u64) {
        if self.next == 0 || self.epoch != epoch {
            *self = Self { epoch, state, looks: 0, next: 1, closed: false };
            return;
        }
        self.looks += 1;
        self.closed |= self.state == state;
        if self.looks == self.next {
            (self.state, self.next) = (state, 2 * self.next);
        }
    }

    /// Whether a state has come again since `epoch` began.
    pub(in crate::exec::run) fn is_closed(&self, epoch: u64) -> bool {
        self.closed && self.epoch == epoch
    }
}
