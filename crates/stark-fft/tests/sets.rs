//! Sets of columns of several sizes, against each size by itself.

use backend_api::{BackendError, Buffer, Queue, Record};
use core_types::{circle::CirclePoint, field::QM31};
use runtime::AnyQueue;
use stark_fft::{
    BitReversed, CfftPlan, Coefficients, Columns, ColumnsMut, ColumnsRef, FftError, HostColumns, LdePlan, M31, Natural,
    Order, Representation, RowOrder, SetShape, TwiddleTree,
};

use crate::common::{columns, domain, processor, simulated};

/// Log sizes and numbers of columns, the biggest first.
const SIZES: [(u32, usize); 4] = [(9, 2), (6, 1), (5, 3), (1, 4)];

fn parts<R: Representation>() -> Vec<HostColumns<R>> {
    SIZES.iter().map(|&(log_size, count)| columns(log_size, count)).collect()
}

fn set<R: Representation>() -> HostColumns<R> {
    HostColumns::from_columns(&parts()).expect("few columns")
}

fn shape() -> SetShape {
    SetShape::new(&SIZES.map(|(log_size, count)| (domain(log_size), count))).expect("sizes in order")
}

#[test]
fn a_set_transforms_each_size_as_by_itself() {
    let q = runtime::cpu().unwrap();
    let tree = TwiddleTree::new(&q, domain(11)).unwrap();
    let transforms = CfftPlan::with_shape(&shape());
    let polynomials = transforms.interpolate(&q, &tree, Columns::upload(&q, &set()).unwrap()).unwrap();
    for (i, (log_size, count)) in SIZES.into_iter().enumerate() {
        let alone = Columns::upload(&q, &columns::<BitReversed>(log_size, count)).unwrap();
        let alone = CfftPlan::new(domain(log_size), count).unwrap().interpolate(&q, &tree, alone).unwrap();
        let group = polynomials.group(i).unwrap().read(&q).unwrap();
        assert_eq!(group.as_slice(), alone.download(&q).unwrap().as_slice());
    }
    assert!(polynomials.group(4).is_none());
    let back = transforms.evaluate(&q, &tree, polynomials).unwrap();
    assert_eq!(back.download(&q).unwrap().as_slice(), set::<BitReversed>().as_slice());
}

#[test]
fn a_set_is_extended_as_each_size_is_by_itself() {
    let q = runtime::cpu().unwrap();
    let tree = TwiddleTree::new(&q, domain(11)).unwrap();
    for log_blowup in [0, 1, 2] {
        let plan = LdePlan::with_shape(&shape(), log_blowup).unwrap();
        let coefficients = Columns::<_, Coefficients>::upload(&q, &set()).unwrap();
        let extended = plan.extend(&q, &tree, &coefficients).unwrap();
        assert_eq!(extended.shape(), plan.extended());
        let values = CfftPlan::with_shape(&shape()).evaluate(&q, &tree, coefficients).unwrap();
        if log_blowup == 0 {
            assert_eq!(values.download(&q).unwrap().as_slice(), extended.download(&q).unwrap().as_slice());
        }
        for (i, (log_size, count)) in SIZES.into_iter().enumerate() {
            let plan = LdePlan::new(domain(log_size), domain(log_size + log_blowup), count).unwrap();
            let alone = Columns::upload(&q, &columns::<Coefficients>(log_size, count)).unwrap();
            let alone = plan.extend(&q, &tree, &alone).unwrap();
            let host = alone.download(&q).unwrap();
            assert_eq!(extended.group(i).unwrap().read(&q).unwrap().as_slice(), host.as_slice());
            let last = alone.slice(count - 1..count).unwrap()[0];
            assert_eq!(last.read(&q).unwrap().as_slice(), host.column(count - 1).unwrap());
        }
        let (found, again) = plan.interpolate_and_extend(&q, &tree, values).unwrap();
        assert_eq!(found.download(&q).unwrap().as_slice(), set::<Coefficients>().as_slice());
        assert_eq!(again.download(&q).unwrap().as_slice(), extended.download(&q).unwrap().as_slice());
    }
}

#[test]
fn a_group_is_a_batch_that_plans_run_on() {
    let q = runtime::cpu().unwrap();
    let tree = TwiddleTree::new(&q, domain(9)).unwrap();
    let mut values = Columns::<_, BitReversed>::upload(&q, &set()).unwrap();
    let plan = CfftPlan::new(domain(5), 3).unwrap();
    let group = values.group_mut(2).unwrap();
    assert_eq!((group.sizes()[0].domain(), group.count()), (domain(5), 3));
    plan.interpolate_in_place(&q, &tree, group).unwrap();
    let alone = plan.interpolate(&q, &tree, Columns::upload(&q, &columns(5, 3)).unwrap()).unwrap();
    let (after, before) = (values.download(&q).unwrap(), set::<BitReversed>());
    let changed = shape().groups()[2].elements();
    assert_eq!(after.as_slice()[changed.clone()], *alone.download(&q).unwrap().as_slice());
    assert_eq!(after.as_slice()[..changed.start], before.as_slice()[..changed.start]);
    assert_eq!(after.as_slice()[changed.end..], before.as_slice()[changed.end..]);
}

#[test]
fn ranges_of_columns_are_cut_where_the_size_changes() {
    let q = runtime::cpu().unwrap();
    let values = Columns::<_, BitReversed>::upload(&q, &set()).unwrap();
    let host = set::<BitReversed>();
    for start in 0..=10 {
        for end in start..=10 {
            let mut column = start;
            for part in values.slice(start..end).unwrap() {
                let read = part.read(&q).unwrap();
                for c in 0..part.count() {
                    assert_eq!(read.column(c), host.column(column));
                    let column_alone = part.slice(c..c + 1).unwrap()[0];
                    assert_eq!(column_alone.read(&q).unwrap().as_slice(), read.column(c).unwrap());
                    column += 1;
                }
            }
            assert_eq!(column, end);
        }
    }
    let outside = FftError::Backend(BackendError::OutOfRange { start: 3, end: 11, len: 10 });
    assert_eq!(values.slice(3..11).err(), Some(outside));
    assert_eq!(host.column(10), None);
}

fn changes_of_order<A: Order, B: Order>() {
    let changed = set::<A>().into_order::<B>();
    for (part, group) in parts::<A>().into_iter().zip(shape().groups()) {
        assert_eq!(changed.as_slice()[group.elements()], *part.into_order::<B>().as_slice());
    }
}

#[test]
fn every_change_of_order_is_that_of_each_size() {
    changes_of_order::<RowOrder, BitReversed>();
    changes_of_order::<RowOrder, Natural>();
    changes_of_order::<BitReversed, RowOrder>();
    changes_of_order::<BitReversed, Natural>();
    changes_of_order::<Natural, RowOrder>();
    changes_of_order::<Natural, BitReversed>();
}

#[test]
fn polynomials_of_all_sizes_have_the_values_that_they_have_alone() {
    let q = runtime::cpu().unwrap();
    let polynomials = Columns::<_, Coefficients>::upload(&q, &set()).unwrap();
    let t = QM31::from_coordinates([3, 1, 4, 1].map(M31::from_u32));
    let point = CirclePoint::from_parameter(t).unwrap();
    let alone = parts().into_iter().flat_map(|part: HostColumns<Coefficients>| {
        Columns::upload(&q, &part).unwrap().eval_at_point(&q, point).unwrap()
    });
    assert_eq!(polynomials.eval_at_point(&q, point).unwrap(), alone.collect::<Vec<_>>());
    let off = CirclePoint { x: QM31::ONE, y: QM31::ONE };
    assert_eq!(polynomials.eval_at_point(&q, off), Err(FftError::OffCircle));
}

#[test]
fn columns_are_ordered_by_size_and_keep_their_order_within_one() {
    let parts: [HostColumns<BitReversed>; 5] =
        [(3, 1), (5, 1), (3, 2), (4, 0), (1, 1)].map(|(log_size, count)| columns(log_size, count));
    let set = HostColumns::from_columns(&parts).unwrap();
    assert_eq!(set.shape().to_string(), "1 x 2^5 + 3 x 2^3 + 1 x 2^1");
    assert_eq!(set.column(0), parts[1].column(0));
    assert_eq!(set.column(1), parts[0].column(0));
    assert_eq!([set.column(2), set.column(3)], [parts[2].column(0), parts[2].column(1)]);
    assert_eq!(set.column(4), parts[4].column(0));
    assert_eq!(HostColumns::<Natural>::from_columns(&[]).unwrap().shape().to_string(), "no columns");
}

#[test]
fn sets_that_do_not_fit_are_refused_with_the_numbers() {
    let q = processor();
    let order = |group, log_size, before| Err(FftError::GroupOrder { group, log_size, before });
    assert_eq!(SetShape::new(&[(domain(3), 1), (domain(4), 1)]), order(1, 4, 3));
    assert_eq!(SetShape::new(&[(domain(5), 1), (domain(4), 1), (domain(4), 1)]), order(2, 4, 4));
    let too_many = FftError::TooManyColumns { got: 1 << 32, log_size: 3 };
    assert_eq!(SetShape::new(&[(domain(3), 1 << 32)]), Err(too_many));
    assert_eq!(shape().extended(22).err(), Some(FftError::LogSize { got: 31 }));
    assert_eq!(shape().extended(u32::MAX).err(), Some(FftError::LogSize { got: u32::MAX }));

    let (shape, other) = (shape(), SetShape::new(&[(domain(9), 2)]).unwrap());
    let length = FftError::SetLength { expected: shape.len(), got: 9 };
    assert_eq!(HostColumns::<Natural>::with_shape(shape.clone(), vec![M31::ONE; 9]).err(), Some(length.clone()));
    let buf = q.zeros::<M31>(9).unwrap();
    assert_eq!(Columns::<AnyQueue, BitReversed>::with_shape(shape.clone(), buf).err(), Some(length));

    let tree = TwiddleTree::new(&q, domain(9)).unwrap();
    let values = || Columns::<_, BitReversed>::upload(&q, &set()).unwrap();
    let mismatch = FftError::SetShape { expected: other.to_string(), got: shape.to_string() };
    assert_eq!(mismatch.to_string(), "expected columns of 2 x 2^9, got 2 x 2^9 + 1 x 2^6 + 3 x 2^5 + 4 x 2^1");
    assert_eq!(CfftPlan::with_shape(&other).interpolate(&q, &tree, values()).err(), Some(mismatch));
    let too_small = FftError::TwiddlesTooSmall { expected: 10, got: 9 };
    let refused = LdePlan::with_shape(&shape, 1).unwrap().interpolate_and_extend(&q, &tree, values());
    assert_eq!(refused.err(), Some(too_small));
}

#[test]
fn views_of_callers_buffers_are_transformed_as_sets_and_columns_are() {
    let q = runtime::cpu().unwrap();
    let tree = TwiddleTree::new(&q, domain(10)).unwrap();
    let (transforms, extension) = (CfftPlan::with_shape(&shape()), LdePlan::with_shape(&shape(), 1).unwrap());
    assert_eq!((transforms.shape(), extension.shape()), (&shape(), &shape()));
    let polynomials = transforms.interpolate(&q, &tree, Columns::upload(&q, &set()).unwrap()).unwrap();
    let extended = extension.extend(&q, &tree, &polynomials).unwrap();

    let mut buf = q.upload(set::<BitReversed>().as_slice()).unwrap();
    let mut values = q.alloc::<M31>(extension.extended().len()).unwrap();
    let all = transforms.shape();
    transforms.interpolate_in_place(&q, &tree, ColumnsMut::with_shape(all, buf.view_mut()).unwrap()).unwrap();
    assert_eq!(q.download(&buf).unwrap(), polynomials.download(&q).unwrap().as_slice());
    let into = ColumnsMut::with_shape(extension.extended(), values.view_mut()).unwrap();
    extension.extend_into(&q, &tree, ColumnsRef::with_shape(all, buf.view()).unwrap(), into).unwrap();
    assert_eq!(q.download(&values).unwrap(), extended.download(&q).unwrap().as_slice());
    transforms.evaluate_in_place(&q, &tree, ColumnsMut::with_shape(all, buf.view_mut()).unwrap()).unwrap();
    assert_eq!(q.download(&buf).unwrap(), set::<BitReversed>().as_slice());

    let (three, wide) = (CfftPlan::new(domain(5), 3).unwrap(), LdePlan::new(domain(5), domain(6), 3).unwrap());
    let alone = Columns::upload(&q, &columns::<Coefficients>(5, 3)).unwrap();
    let mut into = q.alloc::<M31>(3 << 6).unwrap();
    wide.extend_into(&q, &tree, alone.view(), ColumnsMut::new(domain(6), into.view_mut()).unwrap()).unwrap();
    let expected = wide.extend(&q, &tree, &alone).unwrap().download(&q).unwrap();
    assert_eq!(q.download(&into).unwrap(), expected.as_slice());
    let mut buf = q.upload(columns::<Coefficients>(5, 3).as_slice()).unwrap();
    three.evaluate_in_place(&q, &tree, ColumnsMut::new(domain(5), buf.view_mut()).unwrap()).unwrap();
    assert_eq!(q.download(&buf).unwrap(), three.evaluate(&q, &tree, alone).unwrap().download(&q).unwrap().as_slice());
}

#[test]
fn views_that_do_not_fit_are_refused_before_anything_changes() {
    let q = processor();
    let tree = TwiddleTree::new(&q, domain(9)).unwrap();
    let mut values = Columns::<_, BitReversed>::upload(&q, &set()).unwrap();
    let shape = shape();
    let other = SetShape::new(&[(domain(9), 2)]).unwrap();
    let mismatch = || Err(FftError::SetShape { expected: other.to_string(), got: shape.to_string() });
    assert_eq!(CfftPlan::with_shape(&other).interpolate_in_place(&q, &tree, values.view_mut()), mismatch());
    let mut polynomials = Columns::<_, Coefficients>::upload(&q, &set()).unwrap();
    assert_eq!(CfftPlan::with_shape(&other).evaluate_in_place(&q, &tree, polynomials.view_mut()), mismatch());
    let mut extended = Columns::<_, BitReversed>::upload(&q, &set()).unwrap();
    let plan = LdePlan::with_shape(&other, 0).unwrap();
    let refused = plan.interpolate_and_extend_into(&q, &tree, values.view_mut(), extended.view_mut());
    assert_eq!(refused, mismatch());
    let plan = LdePlan::with_shape(&shape, 1).unwrap();
    let refused = plan.interpolate_and_extend_into(&q, &tree, values.view_mut(), extended.view_mut());
    assert_eq!(refused, Err(FftError::SetShape { expected: plan.extended().to_string(), got: shape.to_string() }));

    let group = values.group_mut(2).unwrap();
    let refused = CfftPlan::new(domain(5), 2).unwrap().interpolate_in_place(&q, &tree, group);
    let counts = FftError::Shape { expected_log: 5, expected_columns: 2, got_log: 5, got_columns: 3 };
    assert_eq!(refused, Err(counts));
    let alone = Columns::<_, Coefficients>::upload(&q, &columns(5, 3)).unwrap();
    let (plan, into) = (LdePlan::new(domain(5), domain(6), 3).unwrap(), values.group_mut(2).unwrap());
    let refused = plan.extend_into(&q, &tree, alone.view(), into);
    let sizes = FftError::Shape { expected_log: 6, expected_columns: 3, got_log: 5, got_columns: 3 };
    assert_eq!(refused, Err(sizes));
    assert_eq!(values.download(&q).unwrap().as_slice(), set::<BitReversed>().as_slice());

    let mut buf = q.zeros::<M31>(9).unwrap();
    let length = Some(FftError::SetLength { expected: shape.len(), got: 9 });
    let partial = Some(FftError::PartialColumn { column_len: 8, got: 9 });
    assert_eq!(ColumnsRef::<AnyQueue, BitReversed>::with_shape(&shape, buf.view()).err(), length);
    assert_eq!(ColumnsMut::<AnyQueue, BitReversed>::with_shape(&shape, buf.view_mut()).err(), length);
    assert_eq!(ColumnsRef::<AnyQueue, BitReversed>::new(domain(3), buf.view()).err(), partial);
    assert_eq!(ColumnsMut::<AnyQueue, BitReversed>::new(domain(3), buf.view_mut()).err(), partial);
    assert_eq!(Columns::<AnyQueue, BitReversed>::from_buf(domain(3), buf).err(), partial);
}

#[test]
fn sets_that_do_not_fit_are_refused_before_memory_is_taken() {
    let q = processor();
    let tree = TwiddleTree::new(&q, domain(9)).unwrap();
    let plan = LdePlan::with_shape(&SetShape::new(&[(domain(8), 8)]).unwrap(), 0).unwrap();
    let polynomials = Columns::<_, Coefficients>::upload(&q, &set()).unwrap();
    let values = Columns::<_, BitReversed>::upload(&q, &set()).unwrap();
    let before = q.budget().peak_bytes();
    assert!(plan.extend(&q, &tree, &polynomials).is_err());
    assert!(plan.interpolate_and_extend(&q, &tree, values).is_err());
    assert_eq!(q.budget().peak_bytes(), before);
}

#[test]
fn sets_without_columns_are_transformed_to_sets_without_columns() {
    let (_machine, sim) = simulated();
    for q in [processor(), sim] {
        let tree = TwiddleTree::new(&q, domain(1)).unwrap();
        let none = SetShape::new(&[(domain(9), 0)]).unwrap();
        assert_eq!((none.count(), none.len(), none.domain()), (0, 0, None));
        let (transforms, extension) = (CfftPlan::with_shape(&none), LdePlan::with_shape(&none, 3).unwrap());
        assert_eq!(extension.extended(), &none);
        let host = HostColumns::<BitReversed>::with_shape(none, Vec::new()).unwrap();
        assert_eq!(host.column(0), None);
        let values = Columns::upload(&q, &host).unwrap();
        assert!(values.group(0).is_none() && values.slice(0..0).unwrap().is_empty());
        let polynomials = transforms.interpolate(&q, &tree, values).unwrap();
        let point = CirclePoint::from_parameter(QM31::from_coordinates([2, 7, 1, 8].map(M31::from_u32))).unwrap();
        assert_eq!(polynomials.eval_at_point(&q, point), Ok(Vec::new()));
        assert!(extension.extend(&q, &tree, &polynomials).unwrap().shape().is_empty());
        let values = transforms.evaluate(&q, &tree, polynomials).unwrap();
        let (mut polynomials, mut extended) = extension.interpolate_and_extend(&q, &tree, values).unwrap();
        extension.extend_into(&q, &tree, polynomials.view(), extended.view_mut()).unwrap();
        assert!(extended.download(&q).unwrap().into_order::<Natural>().as_slice().is_empty());
        assert_eq!(polynomials.view_mut().into_groups().unwrap().len(), 0);
        assert_eq!(polynomials.view().groups().count(), 0);
    }
}

#[test]
fn a_sets_extension_is_recorded_and_replayed() {
    let (_machine, q) = simulated();
    let tree = TwiddleTree::new(&q, domain(10)).unwrap();
    let plan = LdePlan::with_shape(&shape(), 1).unwrap();
    let mut columns = q.zeros::<M31>(shape().len()).unwrap();
    let mut values = q.zeros::<M31>(plan.extended().len()).unwrap();
    let recorded: Result<_, FftError> = q.record(|q| {
        let columns = ColumnsMut::with_shape(plan.shape(), columns.view_mut())?;
        plan.interpolate_and_extend_into(q, &tree, columns, ColumnsMut::with_shape(plan.extended(), values.view_mut())?)
    });
    let graph = recorded.unwrap().expect("a transform waits for nothing");
    // The values of the recording do not matter: other ones come before.
    let others = vec![M31::ONE; shape().len()];
    for host in [HostColumns::with_shape(shape(), others).unwrap(), set::<BitReversed>()] {
        q.write(host.as_slice(), columns.view_mut()).unwrap();
        q.replay(&graph).unwrap();
        let direct = Columns::upload(&q, &host).unwrap();
        let (polynomials, extended) = plan.interpolate_and_extend(&q, &tree, direct).unwrap();
        assert_eq!(q.download(&columns).unwrap(), q.download(&polynomials.into_buf()).unwrap());
        assert_eq!(q.download(&values).unwrap(), q.download(&extended.into_buf()).unwrap());
    }
}
