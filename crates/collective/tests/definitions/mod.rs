//! Results and failures of collective calls by their definitions, for ranks of any transport.

use core::{fmt::Debug, ops::Range, time::Duration};
use std::sync::Barrier;

use backend_api::{BackendError, Buffer as _, Collective, CollectiveError, Element, Queue};
use core_types::field::{M31, QM31};

/// Shares of these lengths with a gap of `gap` before each.
pub(crate) fn shares(lens: &[usize], gap: usize) -> Vec<Range<usize>> {
    let starts = lens.iter().scan(0, |end, len| {
        *end += gap + len;
        Some(*end - len)
    });
    starts.zip(lens).map(|(start, len)| start..start + len).collect()
}

/// Runs each rank of a group on a thread with its queue, and returns their results.
pub(crate) fn on_threads<Q: Queue + Sync, R: Send, V: Send>(
    queues: &[Q],
    group: Vec<R>,
    run: impl Fn(&Q, R) -> V + Sync,
) -> Vec<V> {
    let run = &run;
    test_process::scope(|scope| {
        let ranks: Vec<_> = queues.iter().zip(group).map(|(q, rank)| scope.spawn(move || run(q, rank))).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

/// Asserts the bytes that `call` sends to each other rank.
fn assert_sends<Q: Queue>(rank: &impl Collective<Q>, bytes: usize, call: impl FnOnce()) {
    let before = rank.sent_bytes();
    call();
    let to = |(to, before)| if to == rank.rank() { before } else { before + bytes as u64 };
    assert_eq!(rank.sent_bytes(), before.into_iter().enumerate().map(to).collect::<Vec<_>>());
}

/// Gathers shares. What no rank has to bring, each has for itself.
pub(crate) fn gathers<Q: Queue>(q: &Q, rank: &impl Collective<Q>, shares: &[Range<usize>]) {
    let (own, len) = (rank.rank(), shares.last().unwrap().end);
    let value = |rank: usize, index: usize| M31::from_u32((1_000_000 * rank + index) as u32);
    let at = |index| shares.iter().position(|share| share.contains(&index)).unwrap_or(own);
    let expected: Vec<M31> = (0..len).map(|index| value(at(index), index)).collect();
    let before: Vec<M31> = (0..len).map(|index| value(own, index)).collect();
    let mut buffer = q.upload(&before).unwrap();
    assert_sends(rank, 4 * shares[own].len(), || rank.all_gather(q, &mut buffer, shares).unwrap());
    assert_eq!(q.download(&buffer).unwrap(), expected, "{shares:?}");
}

/// A word that no rank sends.
pub(crate) const POISON: u32 = 0xdead_beef;

/// Transposes parts of `part` words, in rounds that ranks begin without a wait for each other.
pub(crate) fn transposes<Q: Queue>(q: &Q, rank: &impl Collective<Q>, part: usize, rounds: u32) {
    let (own, ranks) = (rank.rank(), rank.ranks());
    let value = |from: usize, to: usize, index: usize| (10_000 * (10 * from + to) + index) as u32;
    for round in 0..rounds {
        let parts = |of: &dyn Fn(usize, usize) -> u32| -> Vec<u32> {
            let pairs = (0..ranks).flat_map(|other| (0..part).map(move |index| (other, index)));
            pairs.map(|(other, index)| of(other, index) + 1_000_000 * round).collect()
        };
        let src = q.upload(&parts(&|to, index| value(own, to, index))).unwrap();
        // A word before and one after stay as they are.
        let (mut dst, inner) = (q.upload(&vec![POISON; ranks * part + 2]).unwrap(), 1..1 + ranks * part);
        let dst_view = dst.slice_mut(inner).unwrap();
        assert_sends(rank, 4 * part, || rank.all_to_all(q, src.view(), dst_view).unwrap());
        drop(src);
        let expected = parts(&|from, index| value(from, own, index));
        assert_eq!(q.download(&dst).unwrap(), [&[POISON], &expected[..], &[POISON]].concat());
    }
}

/// Broadcasts elements of two types.
pub(crate) fn broadcasts<Q: Queue>(q: &Q, rank: &impl Collective<Q>, root: usize) {
    broadcasts_of(q, rank, root, 1..3, |rank| QM31::from_coordinates([1, 2, 3, rank as u32].map(M31::from_u32)));
    broadcasts_of(q, rank, root, 2..9, |rank| [rank as u32, 7]);
}

/// Broadcasts a range of what each rank has ten of, and a range without elements.
fn broadcasts_of<Q: Queue, T: Element + PartialEq + Debug>(
    q: &Q,
    rank: &impl Collective<Q>,
    root: usize,
    range: Range<usize>,
    of: impl Fn(usize) -> T,
) {
    let mut expected = vec![of(rank.rank()); 10];
    let mut buffer = q.upload(&expected).unwrap();
    let sent = if rank.rank() == root { range.len() * size_of::<T>() } else { 0 };
    assert_sends(rank, sent, || {
        rank.broadcast(q, root, &mut buffer, range.clone()).unwrap();
        rank.broadcast(q, root, &mut buffer, 2..2).unwrap();
        rank.barrier(q).unwrap();
    });
    expected[range].fill(of(root));
    assert_eq!(q.download(&buffer).unwrap(), expected);
}

/// Makes calls with wrong arguments on one of two ranks. Nothing is sent.
pub(crate) fn names_wrong_arguments<Q: Queue>(q: &Q, rank: &impl Collective<Q>) {
    let (three, mut four) = (q.zeros::<u32>(3).unwrap(), q.zeros::<u32>(4).unwrap());
    let expected = CollectiveError::Shares { expected: 2, got: 3 };
    assert_eq!(rank.all_gather(q, &mut four, &shares(&[1, 1, 1], 0)), Err(expected));
    let expected = CollectiveError::Parts { ranks: 2, src: 3, dst: 4 };
    assert_eq!(rank.all_to_all(q, three.view(), four.view_mut()), Err(expected));
    let expected = CollectiveError::Parts { ranks: 2, src: 3, dst: 3 };
    assert_eq!(rank.all_to_all(q, three.view(), four.slice_mut(0..3).unwrap()), Err(expected));
    assert_eq!(rank.broadcast(q, 2, &mut four, 0..4), Err(CollectiveError::Root { ranks: 2, got: 2 }));
}

/// A share past the end of the buffer of rank 1 of two ends both.
pub(crate) fn ends_out_of_range<Q: Queue>(q: &Q, rank: &impl Collective<Q>) {
    let mut buffer = q.zeros::<u32>(2).unwrap();
    let failed = rank.all_gather(q, &mut buffer, &[0..1, 1..2 + rank.rank()]).unwrap_err();
    let out_of_range = BackendError::OutOfRange { start: 1, end: 3, len: 2 };
    assert_eq!(failed, [CollectiveError::GaveUp { rank: 1 }, out_of_range.into()][rank.rank()]);
}

/// The error of a rank's call if rank `odd` acts differently.
///
/// The others do `then` when they have failed.
pub(crate) fn ended<Q: Queue, C: Collective<Q>>(
    q: &Q,
    rank: C,
    odd: usize,
    act: impl Fn(&C),
    then: impl Fn(),
) -> Option<CollectiveError> {
    let words: Vec<u32> = (0..rank.ranks() as u32).collect();
    let shares = shares(&vec![1; words.len()], 0);
    let mut buffer = q.upload(&vec![rank.rank() as u32; words.len()]).unwrap();
    rank.all_gather(q, &mut buffer, &shares).unwrap();
    if rank.rank() == odd {
        act(&rank);
        return None;
    }
    let first = rank.all_gather(q, &mut buffer, &shares).unwrap_err();
    then();
    assert_eq!(rank.barrier(q), Err(first.clone()), "a group that has failed stays so");
    assert_eq!(q.download(&buffer).unwrap(), words, "the device is as good as before");
    Some(first)
}

/// What each rank of a group does.
type OnRank<'a, Q, C> = &'a (dyn Fn(&Q, C) -> Option<CollectiveError> + Sync);

/// Each rank of `ranks` that ends or gives up ends all, by groups that `on_group` runs.
pub(crate) fn ends_all_with_the_name<Q: Queue, C: Collective<Q>>(
    ranks: usize,
    on_group: impl Fn(OnRank<'_, Q, C>) -> Vec<Option<CollectiveError>>,
) {
    for odd in 0..ranks {
        let all_but = |error: CollectiveError| -> Vec<_> {
            (0..ranks).map(|rank| (rank != odd).then(|| error.clone())).collect()
        };
        let gone = on_group(&|q, rank| ended(q, rank, odd, |_| {}, || ()));
        assert_eq!(gone, all_but(CollectiveError::Gone { rank: odd }));
        let gave_up = on_group(&|q, rank| ended(q, rank, odd, |rank: &C| rank.give_up(), || ()));
        assert_eq!(gave_up, all_but(CollectiveError::GaveUp { rank: odd }));
    }
}

/// How long the ranks of a group for [`stalls`] wait.
pub(crate) const BRIEF: Duration = Duration::from_secs(1);

/// Rank `odd` of two comes after the other one gave it up.
///
/// With two ranks and one exchange, no delay changes the result.
pub(crate) fn stalls<Q: Queue>(q: &Q, rank: &impl Collective<Q>, odd: usize, has_failed: &Barrier) {
    let call = "all-gather of u32 (1 to 1, 2 in all)".to_owned();
    let stalled = CollectiveError::Stalled { rank: odd, call, seconds: BRIEF.as_secs() };
    if rank.rank() == odd {
        has_failed.wait();
        assert_eq!(rank.barrier(q), Err(stalled), "a late rank gets the error too");
        return;
    }
    let mut buffer = q.upload(&[rank.rank() as u32; 2]).unwrap();
    let failure = rank.all_gather(q, &mut buffer, &[0..1, 1..2]);
    has_failed.wait();
    assert_eq!(failure, Err(stalled));
    assert_eq!(rank.barrier(q), failure, "a group that has failed stays so");
}

/// The thread of rank 1 panics.
pub(crate) fn panic_ends_all<Q: Queue + Sync, C: Collective<Q> + Send>(queues: &[Q], group: Vec<C>) {
    let others = group.len() - 1;
    let failed: Vec<_> = test_process::scope(|scope| {
        let ranks = queues.iter().zip(group).map(|(q, rank)| {
            scope.spawn(move || {
                assert_ne!(rank.rank(), 1, "as planned");
                rank.broadcast(q, 0, &mut q.zeros::<u32>(2).unwrap(), 0..2).unwrap_err()
            })
        });
        let ranks: Vec<_> = ranks.collect();
        ranks.into_iter().filter_map(|rank| rank.join().ok()).collect()
    });
    assert_eq!(failed, vec![CollectiveError::Gone { rank: 1 }; others]);
}
