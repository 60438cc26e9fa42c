//! Blocks of an extension compared with the whole extension, and refusals.

use backend_api::{Buffer, Queue, Record};
use stark_fft::{Coefficients, Columns, FftError, LdeBlockPlan, LdePlan, M31, TwiddleTree};

use crate::common::{columns, domain, simulated};

#[test]
fn all_blocks_together_are_the_extension() {
    let q = runtime::cpu().unwrap();
    for (log_size, count) in [(4, 3), (7, 2), (11, 3), (13, 2)] {
        let coefficients = Columns::upload(&q, &columns::<Coefficients>(log_size, count)).unwrap();
        for log_blowup in 1..=3 {
            let (small, large) = (domain(log_size), domain(log_size + log_blowup));
            let tree = TwiddleTree::new(&q, large).unwrap();
            let whole = LdePlan::new(small, large, count).unwrap();
            let whole = whole.extend(&q, &tree, &coefficients).unwrap().download(&q).unwrap();
            for log_blocks in 0..=3 {
                let plan = LdeBlockPlan::new(small, large, count, log_blocks).unwrap();
                assert_eq!(plan.blocks(), 1 << log_blocks);
                let mut values = q.alloc::<M31>(plan.values_len()).unwrap();
                for block in 0..plan.blocks() {
                    plan.extend_into(&q, &tree, coefficients.view(), block, values.view_mut()).unwrap();
                    let expected: Vec<M31> = (0..count)
                        .flat_map(|column| whole.column(column).unwrap()[plan.positions(block)].to_vec())
                        .collect();
                    let got = q.download(&values).unwrap();
                    assert_eq!(got, expected, "block {block} of {}, blowup 2^{log_blowup}", plan.blocks());
                }
            }
        }
    }
}

/// One recording for each block, replayed on other polynomials.
#[test]
fn blocks_are_recorded_and_replayed() {
    let (_machine, q) = simulated();
    let (small, large) = (domain(6), domain(8));
    let tree = TwiddleTree::new(&q, large).unwrap();
    let whole = LdePlan::new(small, large, 2).unwrap();
    let plan = LdeBlockPlan::new(small, large, 2, 3).unwrap();
    for block in [0, 5, 7] {
        let mut coefficients = Columns::<runtime::AnyQueue, Coefficients>::upload(&q, &columns(6, 2)).unwrap();
        let mut values = q.alloc::<M31>(plan.values_len()).unwrap();
        let recorded: Result<_, FftError> =
            q.record(|q| plan.extend_into(q, &tree, coefficients.view(), block, values.view_mut()));
        let graph = recorded.unwrap().expect("a block waits for nothing");
        q.write(&columns::<Coefficients>(6, 4).as_slice()[..128], coefficients.view_mut().into_view()).unwrap();
        q.replay(&graph).unwrap();
        let expected = whole.extend(&q, &tree, &coefficients).unwrap().download(&q).unwrap();
        let expected: Vec<M31> =
            (0..2).flat_map(|column| expected.column(column).unwrap()[plan.positions(block)].to_vec()).collect();
        assert_eq!(q.download(&values).unwrap(), expected, "block {block}");
    }
}

#[test]
fn what_is_no_block_of_the_plan_is_refused_with_the_numbers() {
    let q = runtime::cpu().unwrap();
    let plan = |small, large, count, log_blocks| LdeBlockPlan::new(domain(small), domain(large), count, log_blocks);
    let (got, log_blocks) = (1 << 40, u32::MAX);
    for (made, error) in [
        (plan(3, 4, 1, 4), FftError::TooManyBlocks { log_blocks: 4, log_size: 4 }),
        (plan(3, 4, 1, log_blocks), FftError::TooManyBlocks { log_blocks, log_size: 4 }),
        (plan(5, 4, 1, 1), FftError::DomainTooSmall { coefficients: 5, domain: 4 }),
        (plan(3, 30, got, 1), FftError::TooManyColumns { got, log_size: 29 }),
    ] {
        assert_eq!(made, Err(error));
    }

    let plan = plan(3, 5, 2, 2).unwrap();
    assert_eq!((plan.blocks(), plan.values_len(), plan.positions(3)), (4, 16, 24..32));
    let [two, three] = [2, 3].map(|count| Columns::upload(&q, &columns::<Coefficients>(3, count)).unwrap());
    let [mut right, mut short] = [16, 15].map(|len| q.zeros::<M31>(len).unwrap());
    let [small_tree, tree] = [4, 5].map(|log_size| TwiddleTree::new(&q, domain(log_size)).unwrap());
    let refused = plan.extend_into(&q, &tree, two.view(), 4, right.view_mut());
    assert_eq!(refused, Err(FftError::NoSuchBlock { got: 4, blocks: 4 }));
    let refused = plan.extend_into(&q, &tree, three.view(), 3, right.view_mut());
    let counts = FftError::Shape { expected_log: 3, expected_columns: 2, got_log: 3, got_columns: 3 };
    assert_eq!(refused, Err(counts));
    let refused = plan.extend_into(&q, &tree, two.view(), 3, short.view_mut());
    assert_eq!(refused, Err(FftError::BlockLength { expected: 16, got: 15 }));
    let refused = plan.extend_into(&q, &small_tree, two.view(), 3, right.view_mut());
    assert_eq!(refused, Err(FftError::TwiddlesTooSmall { expected: 5, got: 4 }));
    assert_eq!(plan.extend_into(&q, &tree, two.view(), 3, right.view_mut()), Ok(()));
}
