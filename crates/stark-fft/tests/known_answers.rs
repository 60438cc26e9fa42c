//! Published values of stwo 2.3, every size of a domain, and refusals.

use backend_api::{
    BackendError, Buffer, Queue, Record,
    ops::circle::{CircleEvaluate, CircleOps},
};
use core_types::field::{M31, QM31, Twiddle};
use runtime::{AnyQueue, Choice, Settings};
use stark_fft::{
    BitReversed, CfftPlan, Coefficients, Columns, FftError, HostColumns, LdeBlockPlan, LdePlan, MAX_LOG_SIZE, Natural,
    RowOrder, TwiddleTree, ZeroFlag, batch_inverse, batch_inverse_into,
};

use crate::common::{domain, simulate, simulated};

fn words(elements: &[M31]) -> Vec<u32> {
    elements.iter().map(|x| x.word()).collect()
}

fn one_to_eight() -> Vec<M31> {
    (1..=8).map(M31::from_u32).collect()
}

#[test]
fn twiddles_of_sixteen_points_are_the_published_ones() {
    let q = runtime::cpu().unwrap();
    let plain = |twiddles: &[Twiddle]| twiddles.iter().map(|t| t.factor().word()).collect::<Vec<_>>();
    for tree in [4, 5, 9] {
        let tree = TwiddleTree::new(&q, domain(tree)).unwrap();
        let forward = q.read(tree.forward(domain(4)).unwrap()).unwrap();
        let inverse = q.read(tree.inverse(domain(4)).unwrap()).unwrap();
        let expected =
            [1_179_735_656, 1_241_207_368, 1_415_090_252, 2_112_881_577, 590_768_354, 978_592_373, 32_768, 1];
        assert_eq!(plain(&forward), expected);
        let expected = [1_160_411_471, 1_518_526_074, 490_549_293, 1_942_501_404, 991_237_807, 775_648_038, 65_536, 1];
        assert_eq!(plain(&inverse), expected);
    }
}

#[test]
fn transforms_of_one_to_eight_are_the_published_ones() {
    let q = runtime::cpu().unwrap();
    let tree = TwiddleTree::new(&q, domain(4)).unwrap();
    let plan = CfftPlan::new(domain(3), 1).unwrap();
    let host = HostColumns::<BitReversed>::new(domain(3), one_to_eight()).unwrap();
    let coefficients = plan.interpolate(&q, &tree, Columns::upload(&q, &host).unwrap()).unwrap();
    let expected = [1_073_741_828, 0, 190_298_901, 0, 2_147_352_575, 0, 775_648_038, 2];
    assert_eq!(words(coefficients.download(&q).unwrap().as_slice()), expected);
    let back = plan.evaluate(&q, &tree, coefficients).unwrap();
    assert_eq!(back.download(&q).unwrap().as_slice(), one_to_eight());

    let host = HostColumns::<Coefficients>::new(domain(3), one_to_eight()).unwrap();
    let polynomial = Columns::upload(&q, &host).unwrap();
    let extension = LdePlan::new(domain(3), domain(4), 1).unwrap();
    let extended = extension.extend(&q, &tree, &polynomial).unwrap();
    let expected = [
        771420925, 1387687812, 460566449, 605757310, 803179001, 3112186, 112055132, 151188487, 1801308475, 942769765,
        1326705619, 468678076, 332802656, 70347953, 834412692, 665425713,
    ];
    assert_eq!(words(extended.download(&q).unwrap().as_slice()), expected);
    let coefficients = polynomial.download(&q).unwrap();
    let values = plan.evaluate(&q, &tree, polynomial).unwrap();
    let expected = [885347334, 2092305986, 1262332919, 55636419, 714723476, 1109642644, 1432563561, 1037382257];
    assert_eq!(words(values.download(&q).unwrap().as_slice()), expected);
    let (found, again) = extension.interpolate_and_extend(&q, &tree, values).unwrap();
    assert_eq!(found.download(&q).unwrap().as_slice(), coefficients.as_slice());
    assert_eq!(again.download(&q).unwrap().as_slice(), extended.download(&q).unwrap().as_slice());
}

#[test]
fn every_change_of_order_leaves_each_value_at_its_point() {
    let domain = domain(4);
    let numbers = || (0..32).map(M31::from_u32).collect();
    // Each value of the first column is the number of its point in the order that it comes from.
    let rows = HostColumns::<RowOrder>::new(domain, numbers()).unwrap().into_order::<BitReversed>();
    let stored = HostColumns::<BitReversed>::new(domain, numbers()).unwrap().into_order::<RowOrder>();
    let natural = HostColumns::<RowOrder>::new(domain, numbers()).unwrap().into_order::<Natural>();
    for i in 0..16 {
        let number = |columns: &[M31]| columns[i].word() as usize;
        assert_eq!(domain.stored_point(i), domain.row_point(number(rows.as_slice())));
        assert_eq!(domain.row_point(i), domain.stored_point(number(stored.as_slice())));
        assert_eq!(domain.natural_point(i), domain.row_point(number(natural.as_slice())));
        assert_eq!(rows.column(1).unwrap()[i].word(), rows.column(0).unwrap()[i].word() + 16);
    }
}

#[test]
fn wrong_shapes_are_refused_with_the_numbers() {
    let q = runtime::cpu().unwrap();
    let tree = TwiddleTree::new(&q, domain(3)).unwrap();
    let columns = |log_size: u32, count: usize| {
        let elements = vec![M31::ONE; count << log_size];
        Columns::upload(&q, &HostColumns::<BitReversed>::new(domain(log_size), elements).unwrap()).unwrap()
    };
    let plan = CfftPlan::new(domain(3), 2).unwrap();
    let shape = |got_log, got_columns| FftError::Shape { expected_log: 3, expected_columns: 2, got_log, got_columns };
    assert_eq!(plan.interpolate(&q, &tree, columns(3, 1)).err(), Some(shape(3, 1)));
    assert_eq!(plan.interpolate(&q, &tree, columns(4, 2)).err(), Some(shape(4, 2)));
    let plan = CfftPlan::new(domain(4), 1).unwrap();
    let too_small = FftError::TwiddlesTooSmall { expected: 4, got: 3 };
    assert_eq!(plan.interpolate(&q, &tree, columns(4, 1)).err(), Some(too_small));
    let too_small = FftError::DomainTooSmall { coefficients: 4, domain: 3 };
    assert_eq!(LdePlan::new(domain(4), domain(3), 1).err(), Some(too_small));
    let too_many = FftError::TooManyColumns { got: usize::MAX, log_size: 3 };
    assert_eq!(CfftPlan::new(domain(3), usize::MAX).err(), Some(too_many));
    let too_many = FftError::TooManyColumns { got: 1 << 32, log_size: 3 };
    assert_eq!(CfftPlan::new(domain(3), 1 << 32).err(), Some(too_many));
    let partial = FftError::PartialColumn { column_len: 8, got: 9 };
    assert_eq!(HostColumns::<BitReversed>::new(domain(3), vec![M31::ONE; 9]).err(), Some(partial));
}

#[test]
fn points_off_the_circle_and_zeros_to_invert_are_refused() {
    let q = runtime::cpu().unwrap();
    let host = HostColumns::<Coefficients>::new(domain(3), one_to_eight()).unwrap();
    let polynomial = Columns::upload(&q, &host).unwrap();
    let off = core_types::circle::CirclePoint { x: QM31::ONE, y: QM31::ONE };
    assert_eq!(polynomial.eval_at_point(&q, off), Err(FftError::OffCircle));
    for index in [0, 1, 15, 16, 17, 4095, 4096, 9999] {
        let mut elements = vec![M31::ONE; 10_000];
        elements[index] = M31::ZERO;
        let elements = q.upload(&elements).unwrap();
        assert_eq!(batch_inverse(&q, &elements).err(), Some(FftError::ZeroInverse { index }));
    }
}

#[test]
fn inverses_are_recorded_and_a_zero_is_reported_when_the_flag_is_asked() {
    let (_machine, q) = simulated();
    let inputs = [1, 2, 3, 5].map(M31::from_u32);
    let (mut elements, mut inverses) = (q.upload(&inputs).unwrap(), q.zeros::<M31>(4).unwrap());
    let mut zeros = ZeroFlag::new(&q).unwrap();
    let recorded: Result<_, FftError> =
        q.record(|q| batch_inverse_into(q, elements.view(), inverses.view_mut(), &mut zeros));
    let graph = recorded.unwrap().expect("an inversion waits for nothing");
    let direct = q.download(&batch_inverse(&q, &elements).unwrap()).unwrap();
    q.replay(&graph).unwrap();
    assert_eq!((zeros.check(&q), q.download(&inverses).unwrap()), (Ok(()), direct.clone()));
    q.write(&[1, 2, 0, 5].map(M31::from_u32), elements.view_mut()).unwrap();
    q.replay(&graph).unwrap();
    assert_eq!(zeros.check(&q), Err(FftError::ZeroInverse { index: 2 }));
    q.write(&inputs, elements.view_mut()).unwrap();
    q.replay(&graph).unwrap();
    assert_eq!((zeros.check(&q), q.download(&inverses).unwrap()), (Ok(()), direct));
}

#[test]
fn an_op_on_a_domain_that_does_not_exist_is_refused() {
    let (q, twiddles) = (runtime::cpu().unwrap(), [Twiddle::default(); 4]);
    for log_size in [0, 31, 32, 64, u32::MAX] {
        let params = core_types::params::circle::CircleFftParams { log_size, columns: 1 };
        assert!(q.circle_evaluate(CircleEvaluate { params: &params, twiddles: &twiddles, columns: &mut [] }).is_err());
    }
}

/// Opens queues with memory for the twiddles of 2^20 points, but not of 2^21.
fn small_queues() -> [AnyQueue; 2] {
    let settings = Settings { mem_limit_bytes: Some(6 << 20), ..Settings::default() };
    [Choice::Cpu, Choice::Sim].map(|choice| runtime::open_with(&settings, None, Some(choice)).unwrap().0)
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
                    blocks.extend_into(&q, &tree, line.view(), blocks.blocks() - 1, last.view_mut()).unwrap();
                    let sums = large.stored_point(large.len() - 1);
                    assert_eq!(q.download(&last).unwrap()[1], M31::ONE + sums.y, "1 + y, 2^{log_size}");
                }
                Err(refused) => assert!(log_size > 20 && is_for_memory(&refused), "2^{log_size}: {refused}"),
            }
        }
    }
}
