//! Spans around the calls on a queue.

use core::fmt;

use backend_api::ops::Op;
use tracing::{
    Level, Span,
    level_filters::{LevelFilter, STATIC_MAX_LEVEL},
    span::EnteredSpan,
};

/// The target of every span, for the filters of subscribers.
pub const TRACE_TARGET: &str = "trefoil";

/// Whether any subscriber may want a span.
#[inline(always)]
pub(super) fn wanted() -> bool {
    Level::DEBUG <= STATIC_MAX_LEVEL && Level::DEBUG <= LevelFilter::current()
}

/// Enters the span that `make` makes.
///
/// Apart from the call that the span is around, which usually has none.
#[cold]
#[inline(never)]
pub(super) fn entered(make: impl FnOnce() -> Span) -> EnteredSpan {
    make().entered()
}

/// Runs a call on a queue, within a span if a subscriber is interested.
///
/// Otherwise the overhead is one load and two comparisons. The call is compiled once, with and
/// without a span.
macro_rules! traced {
    ($queue:expr, $name:expr, [$($fields:tt)*], $run:expr) => {{
        let _span = $crate::any::span::wanted().then(|| {
            $crate::any::span::entered(|| {
                tracing::debug_span!(
                    target: $crate::TRACE_TARGET,
                    $name,
                    backend = %backend_api::Queue::caps($queue).kind,
                    $($fields)*
                )
            })
        });
        $run
    }};
}

pub(super) use traced;

/// The sizes among the parameters of an op, such as `rows=4 len=16`.
pub(super) struct Params<'a, O>(pub(super) &'a O);

impl<O: Op> fmt::Display for Params<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = List { f, written: Ok(()), first: true };
        self.0.each_size(&mut |name, size| list.add(name, size));
        list.written
    }
}

/// The lengths of the views of an op that it was given, such as `x=16 y=16`.
pub(super) struct Views<'a, O>(pub(super) &'a O);

impl<O: Op> fmt::Display for Views<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = List { f, written: Ok(()), first: true };
        self.0.each_view(&mut |view| {
            if let Some(len) = view.len {
                list.add(view.name, &len);
            }
        });
        list.written
    }
}

/// Names with values, one after the other.
struct List<'a, 'f> {
    f: &'a mut fmt::Formatter<'f>,
    written: fmt::Result,
    first: bool,
}

impl List<'_, '_> {
    fn add(&mut self, name: &str, value: &dyn fmt::Debug) {
        let between = if self.first { "" } else { " " };
        self.first = false;
        self.written = self.written.and_then(|()| write!(self.f, "{between}{name}={value:?}"));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn fields_are_not_computed_for_nobody() {
        let q = crate::AnyQueue::Cpu(crate::cpu().unwrap());
        let (mut computed, mut run) = (0, 0);
        traced!(
            &q,
            "span",
            [field = {
                computed += 1;
                computed
            }],
            run += 1
        );
        assert_eq!((computed, run), (0, 1));
    }
}
