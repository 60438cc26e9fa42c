//! Ranks that fail end all, and what does not fit is refused before that.

use backend_api::{BackendError, CollectiveError, Queue as _, Ranks as _};
use collective::Local;
use cuda_sim::driver::Rule;
use runtime::{AnyQueue, Choice, Settings};
use stark_fft::{BitReversed, FftError, ShardTwiddles, ShardedCfftPlan, ShardedColumns, ShardedLdePlan};

use crate::{
    common::{columns, domain, processor},
    queues::{StagedRank, on_queues, on_ranks, open_with, queues},
    sharded::{devices, shard},
};

const LOG_SIZE: u32 = 8;

/// Interpolates and extends two columns.
fn transform(q: &AnyQueue, rank: &StagedRank) -> Result<(), FftError> {
    let own = shard(LOG_SIZE, rank);
    let twiddles = ShardTwiddles::new(q, own.on(domain(LOG_SIZE + 1))?)?;
    let values = ShardedColumns::upload(q, own, &columns::<BitReversed>(LOG_SIZE, 2))?;
    let coefficients = ShardedCfftPlan::new(own, 2)?.interpolate(q, &twiddles, rank, values)?;
    ShardedLdePlan::new(own, domain(LOG_SIZE + 1), 2)?.extend(q, &twiddles, rank, &coefficients)?.download(q)?;
    Ok(())
}

#[test]
fn a_rank_without_memory_ends_all() {
    let log_size = 12;
    let made = on_ranks(Local::group(4), Choice::Cpu, |_, rank| {
        // Enough for twiddles and columns on rank 2, and not for a column that comes.
        let limit = (rank.rank() == 2).then_some(4 * (2 << log_size) + 4 * (1 << (log_size - 3)));
        let settings = Settings { mem_limit_bytes: limit, ..Settings::default() };
        let (q, own) = (open_with(Choice::Cpu, &settings), shard(log_size, &rank));
        let twiddles = ShardTwiddles::new(&q, own)?;
        let values = ShardedColumns::upload(&q, own, &columns::<BitReversed>(log_size, 2))?;
        ShardedCfftPlan::new(own, 2)?.interpolate(&q, &twiddles, &rank, values).map(drop)
    });
    for (rank, made) in made.iter().enumerate() {
        if rank == 2 {
            assert!(matches!(made, Err(FftError::Backend(BackendError::BudgetExceeded { .. }))), "{made:?}");
        } else {
            assert_eq!(*made, Err(FftError::Collective(CollectiveError::GaveUp { rank: 2 })));
        }
    }
}

#[test]
fn whatever_launch_a_device_refuses_both_ranks_end() {
    let prove = |rule: Option<&str>| {
        let session = devices("none");
        let queues = queues(Choice::Sim, 2);
        let launches = || session.counters().calls_of("cuLaunchKernel");
        let before = launches();
        if let Some(rule) = rule {
            session.inject(rule.parse::<Rule>().unwrap());
        }
        let made = on_queues(&queues, Local::group(2), |q, rank| transform(q, &rank));
        (made, launches() - before)
    };
    let (made, launches) = prove(None);
    assert_eq!(made, [Ok(()), Ok(())]);
    assert!(launches > 10, "{launches}");
    let mut ended = 0;
    for turn in 1..=launches {
        let (made, _) = prove(Some(&format!("fail=700@cuLaunchKernel:{turn}")));
        let lost = made.iter().position(|made| matches!(made, Err(FftError::Backend(BackendError::DeviceLost { .. }))));
        let Some(lost) = lost else { panic!("{turn}: {made:?}") };
        // The other is done if the device was lost after the last exchange, and finds it gone if it was before the first.
        let [gone, gave_up] = [CollectiveError::Gone { rank: lost }, CollectiveError::GaveUp { rank: lost }]
            .map(|error| Err(FftError::Collective(error)));
        let other = &made[1 - lost];
        assert!([Ok(()), gone, gave_up].contains(other), "{turn}: {other:?}");
        ended += u64::from(other.is_err());
    }
    assert!(ended > launches / 2, "{ended} of {launches}");
}

#[test]
fn ranks_with_other_batches_disagree_by_name() {
    let made = on_ranks(Local::group(2), Choice::Cpu, |q, rank| {
        let log_size = if rank.rank() == 1 { 9 } else { 8 };
        let own = shard(log_size, &rank);
        let twiddles = ShardTwiddles::new(q, own)?;
        let values = ShardedColumns::upload(q, own, &columns::<BitReversed>(log_size, 1))?;
        ShardedCfftPlan::new(own, 1)?.interpolate(q, &twiddles, &rank, values).map(drop)
    });
    for made in made {
        assert!(matches!(made, Err(FftError::Collective(CollectiveError::Disagrees { rank: 1, .. }))), "{made:?}");
    }
}

#[test]
fn what_does_not_fit_the_plan_is_refused_with_the_numbers() {
    let q = processor();
    let group = Local::group(2);
    let [first, second] = [0, 1].map(|rank| shard(LOG_SIZE, &group[rank]));
    let values =
        |shard, count| ShardedColumns::upload(&q, shard, &columns::<BitReversed>(shard.domain().log_size(), count));
    let (plan, twiddles) = (ShardedCfftPlan::new(first, 2).unwrap(), ShardTwiddles::new(&q, first).unwrap());
    let [others, small] = [second, first.on(domain(7)).unwrap()].map(|own| ShardTwiddles::new(&q, own).unwrap());
    let group_error = FftError::Group { expected: first.to_string(), rank: 1, ranks: 2 };
    assert_eq!(group_error.to_string(), "expected the process group of rank 0 of 2 on 2^8 points, got rank 1 of 2");
    let shape = |got_log, got_columns| FftError::Shape { expected_log: 8, expected_columns: 2, got_log, got_columns };
    let other = FftError::Shard { expected: first.to_string(), got: second.to_string() };
    for (twiddles, rank, own, count, error) in [
        (&twiddles, 0, first, 3, shape(8, 3)),
        (&twiddles, 0, second, 2, other.clone()),
        (&others, 0, first, 2, other),
        (&twiddles, 1, first, 2, group_error),
        (&small, 0, first, 2, FftError::TwiddlesTooSmall { expected: 8, got: 7 }),
    ] {
        let made = plan.interpolate(&q, twiddles, &group[rank], values(own, count).unwrap()).map(drop);
        assert_eq!(made, Err(error));
    }
    let made = ShardedColumns::upload(&q, first, &columns::<BitReversed>(7, 2)).map(drop);
    assert_eq!(made, Err(shape(7, 2)));
    assert_eq!(ShardedLdePlan::new(first, domain(7), 2), Err(FftError::DomainTooSmall { coefficients: 8, domain: 7 }));
    let buf = q.alloc(130).unwrap();
    let made = ShardedColumns::<AnyQueue, BitReversed>::from_buf(first, buf).map(drop);
    assert_eq!(made, Err(FftError::PartialColumn { column_len: 128, got: 130 }));
    let got = usize::MAX / 2;
    assert_eq!(ShardedCfftPlan::new(first, got), Err(FftError::TooManyColumns { got, log_size: 8 }));
    // No call was made that others would wait for.
    assert!(group.iter().all(|rank| rank.sent_bytes() == [0, 0]));
}
