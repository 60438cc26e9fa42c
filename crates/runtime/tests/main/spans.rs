//! Spans that the calls on a queue emit.

use std::sync::{Arc, Mutex};

use backend_api::{
    Buffer, Queue,
    ops::{
        fss::{CmpGen, FssOps},
        linalg::{Axpby, ElementwiseOps, RowMask, RowOps, Softmax},
    },
};
use core_types::{
    AesKey,
    params::{
        fss::CmpGenParams,
        rows::{AxisParams, SoftmaxKind, SoftmaxParams},
    },
};
use runtime::{AnyQueue, Settings, TRACE_TARGET, mark_calls};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

/// Writes down every span of a queue: its name and its fields.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<String>>>);

/// The fields of a span as text.
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn core::fmt::Debug) {
        // They depend on the other tests of the process.
        if !["queue", "peak"].contains(&field.name()) {
            self.0 += &format!(", {field}: {value:?}");
        }
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == TRACE_TARGET
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields(span.metadata().name().to_owned());
        span.record(&mut fields);
        self.0.lock().unwrap().push(fields.0);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The spans of the calls that `run` makes on a CPU queue.
fn spans(run: impl FnOnce(&AnyQueue)) -> Vec<String> {
    let (q, _) = runtime::open_with(&Settings::default(), None, None).unwrap();
    let spans = Spans::default();
    tracing::subscriber::with_default(spans.clone(), || run(&q));
    spans.0.lock().unwrap().clone()
}

#[test]
fn ops_show_their_shapes_and_copies_their_bytes() {
    let got = spans(|q| {
        let x = q.upload(&[1.0f32; 6]).unwrap();
        let mut y = q.zeros::<f32>(6).unwrap();
        let params =
            SoftmaxParams { axis: AxisParams { outer: 2, len: 3, inner: 1 }, mask_period: 2, causal_offset: i64::MAX };
        let kind = SoftmaxKind::Softmax;
        let (x_given, mask) = (Some(x.view()), RowMask::None);
        q.softmax(Softmax { params: &params, kind, x: x_given, mask, y: y.view_mut() }).unwrap();
        q.axpby(Axpby { alpha: 0.125, x: x.view(), beta: 1.0, y: y.view_mut() }).unwrap();
        q.finish().unwrap();
        q.download(&y).unwrap();
    });
    let expected = [
        "alloc, backend: cpu, bytes: 24",
        "write, backend: cpu, bytes: 24",
        "zeros, backend: cpu, bytes: 24",
        "softmax, backend: cpu, element: f32, params: outer=2 len=3 inner=1 mask_period=2 kind=Softmax, \
         views: x=6 y=6, bytes: 48, flop: 30",
        "axpby, backend: cpu, element: f32, params: , views: x=6 y=6, bytes: 48, flop: 18",
        "finish, backend: cpu",
        "read, backend: cpu, bytes: 24",
    ];
    assert_eq!(got, expected);
}

#[test]
fn calls_are_marked_within_their_spans() {
    let mut marked = Vec::new();
    let got = spans(|q| {
        let unmarked = q.zeros::<f32>(6).unwrap();
        let ((), calls) = mark_calls(|| {
            let x = q.upload(&[1.0f32; 6]).unwrap();
            q.copy(x.view(), q.zeros(6).unwrap().view_mut()).unwrap();
        });
        q.download(&unmarked).unwrap();
        marked = calls;
    });
    let names =
        |spans: &[String]| -> Vec<_> { spans.iter().map(|span| span.split(',').next().unwrap().to_owned()).collect() };
    assert_eq!(names(&got), ["zeros", "alloc", "write", "zeros", "copy", "read"]);
    assert_eq!(marked.iter().map(|call| call.name()).collect::<Vec<_>>(), ["alloc", "write", "zeros", "copy"]);
    assert!(marked.iter().all(|call| call.elapsed_ns().unwrap() >= 0));
}

#[test]
fn keys_and_seeds_are_not_shown() {
    let got = spans(|q| {
        let (alphas, roots) = (q.zeros(1).unwrap(), q.zeros(64).unwrap());
        let (mut corrections, mut leaves) = (q.alloc(64).unwrap(), q.alloc(64).unwrap());
        q.cmp_gen(CmpGen {
            params: &CmpGenParams { key: AesKey::new([7; 16]), bits: 10, count: 1, reserved: [0; 2] },
            alphas: alphas.view(),
            roots: roots.view(),
            corrections: corrections.view_mut(),
            leaves: leaves.view_mut(),
        })
        .unwrap();
    });
    let views = "alphas=1 roots=64 corrections=64 leaves=64";
    assert_eq!(got[4..], [format!("cmp_gen, backend: cpu, params: bits=10 count=1, views: {views}, bytes: 3080")]);
}

#[test]
fn an_op_that_is_refused_shows_the_views_that_it_got() {
    let got = spans(|q| {
        let (x, mut y) = (q.zeros::<f32>(2).unwrap(), q.zeros::<f32>(3).unwrap());
        q.axpby(Axpby { alpha: 1.0, x: x.view(), beta: 0.0, y: y.view_mut() }).unwrap_err();
    });
    assert_eq!(got[2], "axpby, backend: cpu, element: f32, params: , views: x=2 y=3, bytes: 20, flop: 9");
}
