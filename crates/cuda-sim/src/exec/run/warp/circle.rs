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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_closed_at_the_first_look_that_sees_the_state_of_the_last_power_of_two() {
        for (tail, length) in (0..20).flat_map(|tail| (1..20).map(move |length| (tail, length))) {
            let state = |look: u64| if look < tail { 1000 + look } else { (look - tail) % length };
            let anchor = |look: u64| if look > 1 { 1 << (look - 1).ilog2() } else { 0 };
            let closes = |look: u64| look > 0 && state(look) == state(anchor(look));
            let first = (0..).find(|&look| closes(look)).unwrap();
            let mut circle = Circle::default();
            // What was seen in an epoch before does not count.
            for (state, closed) in [(9, false), (0, false), (0, true), (5, true)] {
                circle.look(0, state);
                assert_eq!((circle.is_closed(0), circle.is_closed(7)), (closed, false));
            }
            for look in 0..first + 3 {
                circle.look(7, state(look));
                assert_eq!(circle.is_closed(7), look >= first, "{tail} states, then {length} in a circle, look {look}");
            }
        }
    }
}
