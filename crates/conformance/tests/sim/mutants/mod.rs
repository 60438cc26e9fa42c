//! Mutants of the shipped PTX: each lacks a barrier, fence, wait or bounds test.
//!
//! The suite must notice them.
//!
//! A mutant is the shipped text of a kernel less one instruction, or less the condition of one. It runs the cases of
//! the conformance suite that launch its kernel, and single launches, each in several orders of blocks and warps, on
//! the simulated driver with every checker on, until one fails or the driver reports something. The trial that noticed
//! the mutant in an earlier run comes first, then what noticed similar mutants, then the cheapest. Every mutant is
//! noticed except the ones in [`EQUIVALENT`]. No equivalent mutant lacks a barrier.

mod attention;
mod direct;
mod equivalent;
mod products;
mod shipped;
mod table;
mod trials;
mod wide;

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};

use ptx::mutate::{Fault, Mutation};

use self::equivalent::EQUIVALENT;
use self::shipped::Shipped;
use self::table::Table;
use self::trials::{OfKernel, Trial, Trials, altered};

/// Trials of a mutant that is known to be equivalent: the cheapest ones, for it survives them all.
const FEW: usize = 2;

/// Least share of mutants that are noticed, in percent.
const NOTICED: usize = 95;

/// Calls `each` with every mutation, its index in the kernel, and its number within its kind.
fn for_each(of_kernel: &OfKernel, mut each: impl FnMut(&str, usize, &Mutation, usize)) {
    for (kernel, mutations) in of_kernel {
        let mut of_kind: BTreeMap<Fault, usize> = BTreeMap::new();
        for (index, mutation) in mutations.iter().enumerate() {
            let count = of_kind.entry(mutation.fault).or_default();
            each(kernel, index, mutation, *count);
            *count += 1;
        }
    }
}

/// Why mutation `number` of its kind changes nothing, if that is known.
fn known(kernel: &str, mutation: &Mutation, number: usize) -> Option<&'static str> {
    EQUIVALENT.iter().find(|known| known.holds(kernel, mutation.fault, number)).map(|known| known.reason)
}

/// Holds the suite to noticing every mutant that is not known to be equivalent, and no other.
///
/// Most mutants are settled by the trials that settled them in an earlier run, so that others need no time.
fn are_noticed(shipped: &Shipped, more: fn() -> Vec<Trial>, longest: u64) {
    let listed = Trials::listed(shipped, more(), longest);
    let all = OnceCell::new();
    let (mut wrong, mut table) = (Vec::new(), Table::default());
    for_each(&listed.mutations(), |kernel, index, mutation, number| {
        let known = known(kernel, mutation, number);
        let settled = listed.settle_again(mutation, index, known.is_some()).unwrap_or_else(|| {
            let all = all.get_or_init(|| Trials::of(shipped, more(), longest));
            all.settle(mutation, index, if known.is_some() { FEW } else { usize::MAX })
        });
        if known.is_some() || settled.noticed.is_some() {
            table.add(kernel, index, &settled);
        }
        let text = format!("{:?} {number} of {kernel}, line {}: {}", mutation.fault, mutation.line, mutation.text);
        match (known, settled.noticed) {
            (None, None) => wrong.push(format!("{text} can be taken away unnoticed")),
            (Some(reason), Some((_, how))) => wrong.push(format!("{text} is no equivalent ({reason}): {how}")),
            (Some(_), None) | (None, Some(_)) => {}
        }
    });
    table.write(shipped.name);
    assert!(wrong.is_empty(), "{} mutants: {wrong:#?}", wrong.len());
}

/// A test for each module: further trials, and the most warp instructions of a launch.
macro_rules! noticed {
    ($(fn $test:ident() = $shipped:ident, $more:expr, $longest:expr;)*) => {
        const ALL: &[Shipped] = &[$(shipped::$shipped),*];

        $(
            #[test]
            fn $test() {
                are_noticed(&shipped::$shipped, $more, $longest);
            }
        )*
    };
}

noticed! {
    fn faults_in_the_kernels_of_programs_and_look_ups_are_noticed() = AIR, direct::look_ups, 1 << 21;
    fn faults_in_the_attention_kernels_are_noticed() = ATTENTION, attention::trials, 1 << 21;
    fn faults_in_the_circle_kernels_are_noticed() = CIRCLE, direct::trials, 1 << 21;
    fn faults_in_the_kernels_of_corrections_are_noticed() = CORRECTION, Vec::new, 1 << 21;
    fn faults_in_the_kernels_of_quotients_and_folds_are_noticed() = DEEP, Vec::new, 1 << 21;
    fn faults_in_the_transcript_kernels_are_noticed() = CHANNEL, Vec::new, 1 << 18;
    fn faults_in_the_kernels_of_openings_are_noticed() = OPEN, Vec::new, 1 << 18;
    fn faults_in_the_kernels_of_function_secret_sharing_are_noticed() = FSS, Vec::new, 1 << 18;
    fn faults_in_the_kernels_of_decompositions_are_noticed() = FACTOR, wide::trials, 1 << 21;
    fn faults_in_the_kernels_of_optimizers_are_noticed() = OPTIM, Vec::new, 1 << 21;
    fn faults_in_the_kernels_of_tensors_are_noticed() = TENSOR, Vec::new, 1 << 21;
    fn faults_in_the_linear_algebra_kernels_are_noticed() = LINALG, products::trials, 1 << 23;
    fn faults_in_the_kernels_of_commitment_trees_are_noticed() = MERKLE, Vec::new, 1 << 21;
    fn faults_in_the_kernels_of_recurrent_networks_are_noticed() = RECURRENT, Vec::new, 1 << 19;
}

#[test]
fn few_mutants_are_equivalent_and_each_that_is_listed_is_there() {
    let (mut tried, mut equivalent) = (0, 0);
    let mut found = vec![BTreeSet::new(); EQUIVALENT.len()];
    for shipped in ALL {
        for_each(&altered(shipped, &shipped.parse()), |kernel, _, mutation, number| {
            tried += 1;
            equivalent += usize::from(known(kernel, mutation, number).is_some());
            for (known, found) in EQUIVALENT.iter().zip(&mut found) {
                if known.holds(kernel, mutation.fault, number) {
                    found.insert(number);
                }
            }
        });
    }
    for (known, found) in EQUIVALENT.iter().zip(&found) {
        assert_eq!(found.len(), known.guards.len(), "{known:?}: {found:?}");
    }
    assert!(100 * equivalent <= (100 - NOTICED) * tried, "{equivalent} of {tried} mutants show nothing");
}
