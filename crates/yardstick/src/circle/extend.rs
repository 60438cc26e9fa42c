//! Low-degree extensions: a plan against the bare op, and blockwise against whole.

use std::num::NonZeroUsize;

use backend_api::{
    Buffer as _, Queue as _,
    ops::circle::{CircleExtend, CircleOps as _},
};
use core_types::{field::M31, params::circle::CircleExtendParams};
use cpu_backend::{CpuConfig, CpuQueue, SimdLevel};
use stark_fft::{
    BitReversed, CanonicDomain, Coefficients, Columns, ColumnsMut, HostColumns, LdeBlockPlan, LdePlan, TwiddleTree,
};

use super::input;
use crate::{Contender, Contest, Goal, Show};

/// Log of the coefficients of a column, and how many columns there are.
const LOG_COEFFICIENTS: u32 = 16;
const COLUMNS: u32 = 100;

/// The log of twice the coefficients.
const LOG_SIZE: u32 = LOG_COEFFICIENTS + 1;

/// Log of the number of blocks.
const LOG_BLOCKS: u32 = 3;

/// The overhead of a plan over its op: checks, and no memory.
pub(super) fn plan(id: String) -> Contest {
    Contest {
        id,
        unit: "element-layer",
        work: work(),
        show: Show::Nanoseconds,
        contenders: vec![of_plan("trefoil, plan"), of_op("trefoil, bare op")],
        goals: vec![(Goal::Ratio { peer: 1, ratio: 1.0 / 1.03 }, "")],
    }
}

/// The cost of holding an eighth of the values at a time: weighted sums replace three layers.
pub(super) fn blocks(id: String) -> Contest {
    Contest {
        id,
        unit: "element-layer",
        work: work(),
        show: Show::Nanoseconds,
        contenders: vec![of_blocks("trefoil, 8 blocks"), of_op("trefoil, whole")],
        goals: vec![(Goal::Ratio { peer: 1, ratio: 0.65 }, "")],
    }
}

fn work() -> f64 {
    f64::from(COLUMNS) * f64::from(LOG_COEFFICIENTS) * f64::from(1u32 << LOG_SIZE)
}

/// What all of them start from.
struct Prepared {
    q: CpuQueue,
    tree: TwiddleTree<CpuQueue>,
    coefficients: Columns<CpuQueue, Coefficients>,
}

fn domain(log_size: u32) -> CanonicDomain {
    CanonicDomain::new(log_size).expect("a small domain")
}

fn prepared() -> Prepared {
    let config = CpuConfig { threads: Some(NonZeroUsize::MIN), simd: SimdLevel::Avx512, ..CpuConfig::default() };
    let q = CpuQueue::open(config).expect("one thread needs no pool");
    let tree = TwiddleTree::new(&q, domain(LOG_SIZE)).expect("memory for the factors");
    let words = input(LOG_COEFFICIENTS).repeat(COLUMNS as usize);
    let host = HostColumns::new(domain(LOG_COEFFICIENTS), words).expect("whole columns");
    let coefficients = Columns::upload(&q, &host).expect("memory for the coefficients");
    Prepared { q, tree, coefficients }
}

fn of_plan(name: &str) -> Contender {
    let Prepared { q, tree, coefficients } = prepared();
    let (small, large) = (domain(LOG_COEFFICIENTS), domain(LOG_SIZE));
    let plan = LdePlan::new(small, large, COLUMNS as usize).expect("a small batch");
    let mut values = q.alloc::<M31>((COLUMNS as usize) << LOG_SIZE).expect("memory for the values");
    Contender::new(name, move || {
        let values = ColumnsMut::<CpuQueue, BitReversed>::new(large, values.view_mut()).expect("whole columns");
        plan.extend_into(&q, &tree, coefficients.view(), values).expect("shapes match");
    })
}

fn of_blocks(name: &str) -> Contender {
    let Prepared { q, tree, coefficients } = prepared();
    let (small, large) = (domain(LOG_COEFFICIENTS), domain(LOG_SIZE));
    let plan = LdeBlockPlan::new(small, large, COLUMNS as usize, LOG_BLOCKS).expect("a small batch");
    let mut values = q.alloc::<M31>(plan.values_len()).expect("memory for the values");
    Contender::new(name, move || {
        for block in 0..plan.blocks() {
            plan.extend_into(&q, &tree, coefficients.view(), block, values.view_mut()).expect("shapes match");
        }
    })
}

fn of_op(name: &str) -> Contender {
    let Prepared { q, tree, coefficients } = prepared();
    let params = CircleExtendParams { log_coefficients: LOG_COEFFICIENTS, log_size: LOG_SIZE, columns: COLUMNS };
    let mut values = q.alloc::<M31>((COLUMNS as usize) << LOG_SIZE).expect("memory for the values");
    Contender::new(name, move || {
        q.circle_extend(CircleExtend {
            params: &params,
            twiddles: tree.forward(domain(LOG_SIZE)).expect("the tree's own domain"),
            coefficients: coefficients.view().view(),
            values: values.view_mut(),
        })
        .expect("lengths match");
    })
}
