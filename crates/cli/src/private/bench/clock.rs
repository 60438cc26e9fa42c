//! The activities of a party: calls on its queue, by their spans, and messages.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use pfss::{Channel, ChannelError, Party};
use serde::Serialize;
use tracing::{Level, Subscriber, span::Id};
use tracing_subscriber::{
    filter::Targets,
    layer::{Context, Layer, SubscriberExt as _},
    registry::LookupSpan,
};

/// Seconds of a party in each activity.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Activities {
    /// Walks of key trees.
    pub(super) walk: f64,
    /// Other PFSS ops: sums of shares, and packing of opened bits.
    pub(super) shares: f64,
    /// Products of matrices.
    pub(super) products: f64,
    /// Copies, allocations and clearing of queue memory.
    pub(super) copies: f64,
    /// From a message to the peer's answer.
    pub(super) exchange: f64,
}

impl Activities {
    /// Time in PFSS evaluation.
    pub(super) fn pfss(&self) -> f64 {
        self.walk + self.shares
    }

    /// Time in all activities.
    pub(super) fn sum(&self) -> f64 {
        self.pfss() + self.products + self.copies + self.exchange
    }

    /// The sum of both.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            walk: self.walk + other.walk,
            shares: self.shares + other.shares,
            products: self.products + other.products,
            copies: self.copies + other.copies,
            exchange: self.exchange + other.exchange,
        }
    }

    /// The activity of a call on a queue with this name.
    fn of_call(&mut self, name: &str) -> &mut f64 {
        match name {
            "cmp_eval_window" | "cmp_eval_all" | "dcf_eval_window" | "expand_seed" => &mut self.walk,
            "combine_bits" | "combine_words" | "linear_words" | "table_sums" | "pack_bits" | "unpack_bits" => {
                &mut self.shares
            }
            "matmul_words" => &mut self.products,
            _ => &mut self.copies,
        }
    }
}

/// A clock of one party's activities. Clones share it.
#[derive(Clone, Default)]
pub(super) struct PartyClock(Arc<Mutex<ClockState>>);

#[derive(Default)]
struct ClockState {
    activities: Activities,
    /// When the call in progress began. Calls on a queue do not contain each other.
    call: Option<Instant>,
}

impl PartyClock {
    /// The activities since the last time, or since the beginning.
    pub(super) fn take(&self) -> Activities {
        core::mem::take(&mut self.state().activities)
    }

    /// A subscriber to the calls of the thread that installs it.
    pub(super) fn subscriber(&self) -> impl Subscriber + Send + Sync + use<> {
        let queues = Targets::new().with_target(runtime::TRACE_TARGET, Level::DEBUG);
        tracing_subscriber::registry().with(queues).with(self.clone())
    }

    fn exchange<T>(&self, exchange: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = exchange();
        self.state().activities.exchange += start.elapsed().as_secs_f64();
        done
    }

    fn state(&self) -> MutexGuard<'_, ClockState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Subscriber + for<'span> LookupSpan<'span>> Layer<S> for PartyClock {
    fn on_enter(&self, _: &Id, _: Context<'_, S>) {
        self.state().call = Some(Instant::now());
    }

    fn on_exit(&self, id: &Id, ctx: Context<'_, S>) {
        let mut state = self.state();
        let elapsed = state.call.take().map_or(Duration::ZERO, |call| call.elapsed());
        if let Some(metadata) = ctx.metadata(id) {
            *state.activities.of_call(metadata.name()) += elapsed.as_secs_f64();
        }
    }
}

/// A channel whose messages a clock measures.
pub(super) struct TimedChannel<C> {
    pub(super) inner: C,
    pub(super) clock: PartyClock,
}

impl<C: Channel> Channel for TimedChannel<C> {
    fn party(&self) -> Party {
        self.inner.party()
    }

    fn send(&mut self, message: &[u8]) -> Result<(), ChannelError> {
        self.clock.exchange(|| self.inner.send(message))
    }

    fn recv(&mut self, len: usize) -> Result<Vec<u8>, ChannelError> {
        self.clock.exchange(|| self.inner.recv(len))
    }

    fn exchange(&mut self, message: &[u8]) -> Result<Vec<u8>, ChannelError> {
        self.clock.exchange(|| self.inner.exchange(message))
    }

    fn opened_words(&self, words: &[u64]) {
        self.inner.opened_words(words);
    }

    fn opened_bits(&self, bits: &[u32]) {
        self.inner.opened_bits(bits);
    }
}

#[cfg(test)]
mod tests {
    use backend_api::Queue as _;
    use runtime::AnyQueue;
    use tracing::subscriber::with_default;

    use super::*;

    /// The names of the ops of a set.
    macro_rules! names {
        ($(#[$doc:meta])* $module:ident::$set:ident: $super:ident {
            $($method:ident $(<$t:ident>)? ($record:ident) $(-> $shape:ident)?,)*
        }) => {
            [$(stringify!($method)),*]
        };
    }

    #[test]
    fn calls_count_for_the_activity_of_their_op() {
        let activity = |name: &str| {
            let mut activities = Activities::default();
            *activities.of_call(name) = 1.0;
            let Activities { walk, shares, products, copies, .. } = activities;
            assert_eq!(activities.sum(), 1.0, "{name}");
            [walk, shares, products, copies].iter().position(|&seconds| seconds > 0.5).unwrap()
        };
        let sharing: Vec<usize> = backend_api::share_ops!(names).map(activity).to_vec();
        assert_eq!(sharing, [1, 1, 1, 2, 1]);
        // Keys are generated by the dealer, which no clock measures.
        let fss = backend_api::fss_ops!(names).into_iter().filter(|name| !name.ends_with("_gen"));
        assert_eq!(fss.map(activity).collect::<Vec<_>>(), [0, 0, 0, 0, 1, 1]);
        assert_eq!(["write", "read_secret", "alloc"].map(activity), [3; 3]);
    }

    #[test]
    fn a_clock_measures_the_calls_of_its_thread_and_starts_anew() {
        let (clock, q) = (PartyClock::default(), AnyQueue::Cpu(runtime::cpu().unwrap()));
        with_default(clock.subscriber(), || q.zeros::<u64>(1 << 16).unwrap());
        let first = clock.take();
        assert!(first.copies > 0.0, "{first:?}");
        assert_eq!(first.copies, first.sum());
        clock.exchange(|| std::thread::sleep(Duration::from_millis(5)));
        let second = clock.take();
        assert!(second.exchange >= 0.005, "{second:?}");
        assert_eq!(second.exchange, second.sum());
        assert_eq!(clock.take().sum(), 0.0);
    }
}
