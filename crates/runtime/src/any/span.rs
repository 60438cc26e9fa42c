//! Spans around the calls on a queue.

use core::fmt;
use std::sync::{Mutex, PoisonError};

use backend_api::{
    Queue as _,
    ops::{Access, Described, Op, View},
};
use core_types::{
    Label,
    blake2s::Digest,
    field::{M31, QM31, Twiddle},
    params::{channel::ChannelState, optim::StepState},
};
use tracing::{
    Level, Span,
    level_filters::{LevelFilter, STATIC_MAX_LEVEL},
    span::EnteredSpan,
};

use super::{AnyQueue, marks::OpenMark};

/// The target of every span, for the filters of subscribers.
pub const TRACE_TARGET: &str = "trefoil";

/// Whether any subscriber may want a span.
#[inline(always)]
pub(super) fn wanted() -> bool {
    Level::DEBUG <= STATIC_MAX_LEVEL && Level::DEBUG <= LevelFilter::current()
}

/// A call within its span, and within its marks if this thread marks its calls.
///
/// The second mark is made before the span ends.
pub(super) struct TracedCall {
    _mark: Option<OpenMark>,
    _span: EnteredSpan,
}

/// Enters the span that `make` makes.
///
/// Apart from the call that the span is around, which usually has none.
#[cold]
#[inline(never)]
pub(super) fn entered(queue: &AnyQueue, name: &'static str, make: &mut dyn FnMut() -> Span) -> TracedCall {
    let span = make();
    let is_wanted = !span.is_disabled();
    let span = span.entered();
    TracedCall { _mark: is_wanted.then(|| OpenMark::begin(queue, name)).flatten(), _span: span }
}

/// The number of the memory that a queue allocates from.
///
/// Numbers follow the order in which spans first show the memories. Forks and clones of a queue
/// share one. A queue that is opened after another one was dropped may get its number.
pub(super) fn number(queue: &AnyQueue) -> usize {
    static SEEN: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let budget = core::ptr::from_ref(queue.budget()).addr();
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = seen.iter().position(|&other| other == budget);
    known.unwrap_or_else(|| {
        seen.push(budget);
        seen.len() - 1
    })
}

/// Runs a call on a queue, within a span if a subscriber is interested.
///
/// Otherwise the overhead is one load and two comparisons. The call is compiled once, with and
/// without a span. A span whose only field is `bytes` is entered by a function that does not depend
/// on the type of the elements, so that calls which are generic in it share the function.
macro_rules! traced {
    (@enter $queue:expr, $name:expr, [$($fields:tt)*]) => {
        $crate::any::span::entered($queue, $name, &mut || {
            tracing::debug_span!(
                target: $crate::TRACE_TARGET,
                $name,
                backend = %backend_api::Queue::caps($queue).kind,
                queue = $crate::any::span::number($queue),
                peak = backend_api::Queue::budget($queue).peak_bytes(),
                $($fields)*
            )
        })
    };
    ($queue:expr, $name:literal, [bytes = $bytes:expr], $run:expr) => {{
        #[cold]
        fn enter(queue: &$crate::AnyQueue, bytes: usize) -> $crate::any::span::TracedCall {
            $crate::any::span::traced!(@enter queue, $name, [bytes])
        }
        let _span = if $crate::any::span::wanted() { Some(enter($queue, $bytes)) } else { None };
        $run
    }};
    ($queue:expr, $name:expr, [$($fields:tt)*], $run:expr) => {{
        let _span = $crate::any::span::wanted()
            .then(|| $crate::any::span::traced!(@enter $queue, $name, [$($fields)*]));
        $run
    }};
}

pub(super) use traced;

/// The parts of an op that spans show, as a trait object: one instance for all ops.
pub(super) trait ShownOp {
    /// [`Op::each_size`].
    fn sizes(&self, see: &mut dyn FnMut(&'static str, &dyn fmt::Debug));
    /// [`Op::each_view`].
    fn views(&self, see: &mut dyn FnMut(View));
    /// [`Op::describe`].
    fn fields(&self, see: &mut dyn FnMut(Described));
}

impl<O: Op> ShownOp for O {
    fn sizes(&self, see: &mut dyn FnMut(&'static str, &dyn fmt::Debug)) {
        self.each_size(see);
    }

    fn views(&self, see: &mut dyn FnMut(View)) {
        self.each_view(see);
    }

    fn fields(&self, see: &mut dyn FnMut(Described)) {
        O::describe(see);
    }
}

/// The sizes among the parameters of an op, such as `rows=4 len=16`.
pub(super) struct Params<'a>(pub(super) &'a dyn ShownOp);

impl fmt::Display for Params<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = NamedValues { f, written: Ok(()), first: true };
        self.0.sizes(&mut |name, size| list.add(name, size));
        list.written
    }
}

/// The lengths of the views of an op that it was given, such as `x=16 y=16`.
pub(super) struct Views<'a>(pub(super) &'a dyn ShownOp);

impl fmt::Display for Views<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = NamedValues { f, written: Ok(()), first: true };
        self.0.views(&mut |view| {
            if let Some(len) = view.len {
                list.add(view.name, &len);
            }
        });
        list.written
    }
}

/// Bytes of the views that an op was given, if an element of type `T` has `real` bytes.
pub(super) fn view_bytes(op: &dyn ShownOp, real: usize) -> usize {
    let mut of_element = Vec::new();
    op.fields(&mut |field| {
        if field.access != Access::Parameter {
            of_element.push(element_bytes(field.element, real).unwrap_or(0));
        }
    });
    let (mut of_element, mut bytes) = (of_element.into_iter(), 0);
    op.views(&mut |view| bytes += view.len.unwrap_or(0) * of_element.next().unwrap_or(0));
    bytes
}

/// Bytes of an element by its name in descriptions of ops; `None` for another name.
///
/// A mask whose elements are booleans or f32 counts as f32.
fn element_bytes(element: &str, real: usize) -> Option<usize> {
    Some(match element {
        "T" => real,
        "bool" => size_of::<bool>(),
        "u32" => size_of::<u32>(),
        "u64" => size_of::<u64>(),
        "u128" => size_of::<u128>(),
        "f32" | "(bool or f32)" => size_of::<f32>(),
        "f64" => size_of::<f64>(),
        "M31" => size_of::<M31>(),
        "QM31" => size_of::<QM31>(),
        "Twiddle" => size_of::<Twiddle>(),
        "Digest" => size_of::<Digest>(),
        "Label" => size_of::<Label>(),
        "ChannelState" => size_of::<ChannelState>(),
        "StepState" => size_of::<StepState>(),
        _ => return None,
    })
}

/// Names with values, one after the other.
struct NamedValues<'a, 'f> {
    f: &'a mut fmt::Formatter<'f>,
    written: fmt::Result,
    first: bool,
}

impl NamedValues<'_, '_> {
    fn add(&mut self, name: &str, value: &dyn fmt::Debug) {
        let between = if self.first { "" } else { " " };
        self.first = false;
        self.written = self.written.and_then(|()| write!(self.f, "{between}{name}={value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use backend_api::ops::linalg::Axpby;
    use cpu_backend::CpuQueue;

    use super::*;

    #[test]
    fn the_elements_of_every_view_have_a_size() {
        let mut views = 0;
        macro_rules! real {
            ($t:ident) => {
                f32
            };
        }
        macro_rules! count {
            ($(#[$doc:meta])* $module:ident::$set:ident: $super:ident {
                $($method:ident $(<$t:ident>)? ($record:ident) $(-> $shape:ident)?,)*
            }) => {
                $(<backend_api::ops::$module::$record<'static, CpuQueue $(, real!($t))?>>::describe(&mut |field| {
                    if field.access != Access::Parameter {
                        views += 1;
                        assert!(element_bytes(field.element, 4).is_some(), "{field:?}");
                    }
                });)*
            };
        }
        backend_api::op_sets!(count);
        assert!(views > 200, "{views}");
        assert_eq!(element_bytes("u8", 4), None);
    }

    #[test]
    fn bytes_are_those_of_the_element_type() {
        let (x, mut y) = ([0.0f32; 5], [0.0f32; 5]);
        let op = Axpby::<CpuQueue, f32> { alpha: 1.0, x: &x[..], beta: 1.0, y: &mut y[..] };
        assert_eq!([2, 4].map(|real| view_bytes(&op, real)), [20, 40]);
    }

    #[test]
    fn forks_share_the_number_of_their_queue() {
        use backend_api::Fork as _;

        let [q, other] = [(); 2].map(|()| AnyQueue::Cpu(crate::cpu().unwrap()));
        let fork = q.fork().unwrap();
        assert_eq!(number(&q), number(&fork));
        assert_eq!(number(&q), number(&q.clone()));
        assert_ne!(number(&q), number(&other));
    }

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
