use pfss::{KeyBundle, Operation, PfssError, Session, SufBools, batch::Shares};

/// One party's part in an evaluation.
pub(super) fn evaluate<C: pfss::Channel>(
    session: &mut Session<C>,
    q: &runtime::AnyQueue,
    operation: &Operation,
    bundle: KeyBundle,
    x: &[u64],
) -> Result<Shares, PfssError> {
    match operation.task() {
        Some(task) => session.run(q, task, bundle, x).map(Shares::Words),
        None => session.suf(q, bundle, x).map(Shares::Suf),
    }
}

/// What shares open to, one row for each of `count` elements, in the order of [`Operation::eval`].
pub(super) fn open(operation: &Operation, count: usize, [zero, one]: [&Shares; 2]) -> Vec<Vec<u64>> {
    let ring = operation.gate().out_ring();
    let sum = |a: &[u64], b: &[u64]| a.iter().zip(b).map(|(&a, &b)| ring.add(a, b)).collect::<Vec<u64>>();
    let words = sum(zero.words(), one.words());
    let (stride, per_row) = (words.len() / count.max(1), count.div_ceil(32));
    let bools = match (zero, one) {
        (Shares::Suf(zero), Shares::Suf(one)) => match (&zero.bools, &one.bools) {
            (SufBools::Additive(zero), SufBools::Additive(one)) => sum(zero, one),
            (SufBools::Xor(zero), SufBools::Xor(one)) => {
                let rows = zero.words().len() / per_row.max(1);
                let bit = |row: usize, e: usize| {
                    let [a, b] = [zero, one].map(|bits| bits.words()[row * per_row + e / 32]);
                    u64::from((a ^ b) >> (e % 32) & 1)
                };
                (0..count).flat_map(|e| (0..rows).map(move |row| (row, e))).map(|(row, e)| bit(row, e)).collect()
            }
            _ => Vec::new(), // both parties run one program
        },
        _ => Vec::new(),
    };
    let bits = bools.len() / count.max(1);
    (0..count).map(|e| [&words[e * stride..][..stride], &bools[e * bits..][..bits]].concat()).collect()
}
