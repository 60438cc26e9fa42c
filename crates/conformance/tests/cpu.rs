//! The specifications on every code path of this processor, on one thread and on several.
//!
//! Every path is either held or named as absent; the portable ones are never absent.

use std::{fmt::Debug, num::NonZeroUsize};

use backend_api::ops::{Access, Op};
use conformance::{Condition, Conditioned, OpSpec, Outcome, Selection, fss, run};
use cpu_backend::{AesPath, CpuConfig, CpuQueue, Simd, SimdLevel};
use runtime::AnyQueue;

const LEVELS: [SimdLevel; 3] = [SimdLevel::Portable, SimdLevel::Avx2, SimdLevel::Avx512];
const AES_PATHS: [AesPath; 4] = [AesPath::Portable, AesPath::AesNi, AesPath::Vaes256, AesPath::Vaes512];

fn strongest() -> Simd {
    Simd::detect_up_to(SimdLevel::Avx512)
}

/// Holds `specs`, of more than `least` cases, on `simd` with `threads` threads.
fn holds(specs: fn() -> Vec<OpSpec>, least: usize, simd: Simd, threads: usize) {
    let config = CpuConfig { threads: NonZeroUsize::new(threads), ..CpuConfig::default() };
    let q = Conditioned::plain(AnyQueue::Cpu(CpuQueue::with_simd(config, simd).expect("threads start")));
    let report = run(&q, &specs(), |_| ());
    assert!(report.outcomes.len() > least);
    assert_eq!(report.failures().collect::<Vec<_>>(), Vec::<&Outcome>::new());
}

/// Calls `hold` on each path that `with` finds on this processor, and lists the other paths.
fn on_each<P: Copy + Debug + PartialEq>(ops: &str, paths: &[P], with: impl Fn(P) -> Option<Simd>, hold: impl Fn(Simd)) {
    let (present, absent): (Vec<P>, Vec<P>) = paths.iter().partition(|&&path| with(path).is_some());
    eprintln!("{ops}: {} paths held: {present:?}; {} not on this processor: {absent:?}", present.len(), absent.len());
    assert_eq!(present.first(), paths.first(), "the portable path is always there");
    present.into_iter().filter_map(with).for_each(hold);
}

fn at_level(level: SimdLevel) -> Option<Simd> {
    level.is_available().then(|| Simd::detect_up_to(level))
}

/// A test for each op set, of more cases than the number.
macro_rules! on_every_level {
    ($(fn $test:ident() = $set:ident, $least:literal;)*) => {
        $(
            #[test]
            fn $test() {
                let specs = conformance::$set::specs;
                on_each(stringify!($set), &LEVELS, at_level, |simd| holds(specs, $least, simd, 1));
                holds(specs, $least, strongest(), 3);
            }
        )*
    };
}

on_every_level! {
    fn circle_specifications_hold_on_every_vector_level() = circle, 100;
    fn air_specifications_hold_on_every_vector_level() = air, 50;
    fn transcript_specifications_hold_on_every_vector_level() = channel, 100;
    fn correction_specifications_hold_on_every_vector_level() = correction, 90;
    fn deep_specifications_hold_on_every_vector_level() = deep, 80;
    fn factor_specifications_hold_on_every_vector_level() = factor, 150;
    fn fri_specifications_hold_on_every_vector_level() = fri, 80;
    fn merkle_specifications_hold_on_every_vector_level() = merkle, 60;
    fn optimizer_specifications_hold_on_every_vector_level() = optim, 80;
    fn recurrent_specifications_hold_on_every_vector_level() = recurrent, 20;
    fn linalg_specifications_hold_on_every_vector_level() = linalg, 100;
    fn tensor_specifications_hold_on_every_vector_level() = tensor, 300;
}

#[test]
fn fss_specifications_hold_on_every_aes_path() {
    on_each(
        "fss",
        &AES_PATHS,
        |path| strongest().with_aes(path),
        |simd| {
            let threads = if simd.aes() == AesPath::Portable { 2 } else { 1 };
            holds(fss::specs, 200, simd, threads);
        },
    );
    holds(fss::specs, 200, strongest(), 3);
}

/// Views that may have any length: an op and the view.
const OF_ANY_LENGTH: [(&str, &str); 9] = [
    ("channel_mix_digests", "absorbed"),
    ("channel_mix_digests", "challenges"),
    ("channel_mix_felts", "absorbed"),
    ("channel_mix_felts", "challenges"),
    ("channel_mix_words", "absorbed"),
    ("channel_mix_words", "challenges"),
    ("channel_draw", "challenges"),
    ("matrix_peak", "a"),
    ("advance_step", "sums"),
];

#[test]
fn every_view_of_every_op_is_refused_one_element_short() {
    let q = Conditioned::plain(AnyQueue::Cpu(CpuQueue::open(CpuConfig::default()).expect("threads start")));
    let small = Selection { max_elements: 1 << 12, ..Selection::default() };
    let report = run(&q, &small.of(conformance::specs()), |_| ());
    assert_eq!(report.failures().collect::<Vec<_>>(), Vec::<&Outcome>::new());
    let (refused, mut others) = (q.refused(), Vec::new());
    macro_rules! element {
        ($t:ident) => {
            f32
        };
    }
    macro_rules! collect {
        ($(#[$doc:meta])* $module:ident::$set:ident: $super:ident {
            $($method:ident $(<$t:ident>)? ($record:ident) $(-> $shape:ident)?,)*
        }) => {
            $(<backend_api::ops::$module::$record<'static, CpuQueue $(, element!($t))?> as Op>::describe(&mut |field| {
                let view = (stringify!($method), field.name);
                if field.access != Access::Parameter && !refused.contains(&view) {
                    others.push(view);
                }
            });)*
        };
    }
    backend_api::op_sets!(collect);
    assert_eq!(others, OF_ANY_LENGTH);
    let accepted: Vec<_> =
        q.accepted().into_iter().filter(|(op, _, view)| !OF_ANY_LENGTH.contains(&(op, view))).collect();
    assert_eq!(accepted, []);
}

#[test]
fn a_selection_is_by_part_or_whole_of_a_name_and_may_begin_later() {
    let cases = |selection: Selection<'_>| -> Vec<(&str, String)> {
        let specs = selection.of(conformance::specs());
        specs.iter().flat_map(|spec| spec.cases.iter().map(|case| (spec.op, case.name().to_owned()))).collect()
    };
    let all = cases(Selection { filter: "linalg.softmax", ..Selection::default() });
    let part = |part| cases(Selection { filter: "linalg.softmax", part: [part, 3], ..Selection::default() });
    let [mut parts, second, third] = [part(1), part(2), part(3)];
    assert!(parts.len() >= second.len() && second.len() >= third.len() && parts.len() <= third.len() + 1);
    parts.extend(second.into_iter().chain(third));
    assert!(parts.len() == all.len() && all.iter().all(|case| parts.contains(case)));
    let forward = cases(Selection { filter: "linalg.softmax", exact: true, ..Selection::default() });
    assert_eq!(all[..forward.len()], forward);
    assert!(forward.iter().all(|(op, _)| *op == "linalg.softmax") && all.len() > forward.len());
    for skip in [1, forward.len(), forward.len() + 2, all.len(), all.len() + 1] {
        let rest = cases(Selection { filter: "linalg.softmax", skip, ..Selection::default() });
        assert_eq!(rest, all[skip.min(all.len())..]);
    }
}

#[test]
fn every_condition_runs_every_selected_case_on_the_cpu() {
    let q = AnyQueue::Cpu(CpuQueue::open(CpuConfig::default()).expect("threads start"));
    for filter in ["linalg.softmax", "deep.", "fri."] {
        let selection = Selection { filter, max_elements: 1 << 12, ..Selection::default() };
        for condition in Condition::ALL {
            let report = condition.run(&q, selection, |_| ()).expect("the queue forks");
            assert!(report.outcomes.len() > 3, "{filter} {}", condition.name());
            assert_eq!(report.failures().collect::<Vec<_>>(), Vec::<&Outcome>::new(), "{filter} {}", condition.name());
        }
    }
}
