//! Every size of a domain that there is: planned, and refused for memory alone.

use backend_api::{BackendError, Queue};
use stark_fft::{
    CfftPlan, Coefficients, Columns, FftError, HostColumns, LdeBlockPlan, LdePlan, M31, MAX_LOG_SIZE, TwiddleTree,
};

use crate::common::{domain, simulate};

/// Opens queues with memory for the twiddles of 2^20 points, but not of 2^21.
fn small_queues() -> [runtime::AnyQueue; 2] {
    let settings = runtime::Settings { mem_limit_bytes: Some(6 << 20), ..runtime::Settings::default() };
    [runtime::Choice::Cpu, runtime::Choice::Sim]
        .map(|choice| runtime::open_with(&settings, None, Some(choice)).unwrap().0)
}

fn is_for_memory(error: &FftError) -> bool {
    matches!(error, FftError::Backend(BackendError::BudgetExceeded { .. } | BackendError::OutOfMemory { .. }))
}

#[test]
fn every_size_is_planned_and_refused_for_memory_alone() {
    let _machine = simulate("");
    for q in small_queues() {
        let host = HostColumns::<Coefficients>::new(domain(1), vec![M31::ONE; 2]).unwrap();
        let line = Columns::upload(&q, &host).unwrap();
        let small_tree = TwiddleTree::new(&q, domain(4)).unwrap();
        for log_size in 1..=MAX_LOG_SIZE {
            let large = domain(log_size);
            CfftPlan::new(large, 1).unwrap();
            let plan = LdePlan::new(domain(1), large, 1).unwrap();
            let blocks = LdeBlockPlan::new(domain(1), large, 1, log_size - 1).unwrap();
            assert_eq!((blocks.blocks(), blocks.values_len()), (large.len() / 2, 2));
            if log_size > 4 {
                let refused = plan.extend(&q, &small_tree, &line).unwrap_err();
                let too_small = FftError::TwiddlesTooSmall { expected: log_size, got: 4 };
                assert!(refused == too_small || log_size > 20 && is_for_memory(&refused), "2^{log_size}: {refused}");
            }
            match TwiddleTree::new(&q, large) {
                Ok(tree) => {
                    assert!(log_size <= 20, "2^{log_size} twiddles and their inverses in 6 MiB");
                    let mut last = q.alloc::<M31>(2).unwrap();
                    let view = backend_api::Buffer::view_mut(&mut last);
                    blocks.extend_into(&q, &tree, line.view(), blocks.blocks() - 1, view).unwrap();
                    let sums = large.stored_point(large.len() - 1);
                    assert_eq!(q.download(&last).unwrap()[1], M31::ONE + sums.y, "1 + y, 2^{log_size}");
                }
                Err(refused) => assert!(log_size > 20 && is_for_memory(&refused), "2^{log_size}: {refused}"),
            }
        }
    }
}
