//! Devices whose memory is short: copies of weights give way, and a dealer copies masks instead of expanding them.

use backend_api::{BackendError, Budget, Queue as _};
use core_types::params::share::WordTerm;
use cuda_sim::driver::Counters;
use pfss::{Dealer, Gate, MatrixShape, OpenedWeights, PfssError, Step, Task, WeightMask, WeightShape, WeightTriple};
use runtime::AnyQueue;

use crate::{
    common::{
        WORDS, both, flat,
        queues::{Sim, cpu},
        words,
    },
    matrices::open_weights,
};

const SHAPE: WeightShape = WeightShape { inner: 41, cols: 301 };
const ROWS: usize = 3;
/// Memory for a product and two copies of its weights, but not for three copies.
const SMALL: u64 = 256 << 10;

/// Opened weights, and the dealer's mask of them.
struct Layer {
    mask: WeightMask,
    weights: [OpenedWeights; 2],
}

impl Layer {
    fn new(seed: u64) -> Self {
        let (keys, mask) = Dealer::insecure_from_seed(seed).deal_weights(WORDS, SHAPE).unwrap();
        Self { mask, weights: open_weights(keys, &words(SHAPE.elements(), seed)) }
    }

    /// Both parties' shares of a product: `party` computes on `q`, the other on the processor.
    fn product(&self, q: &AnyQueue, party: usize, rows: usize) -> [Result<Vec<u64>, PfssError>; 2] {
        let (host, x) = (cpu(None), words(rows * SHAPE.inner, 7));
        let triples = Dealer::insecure_from_seed(8).deal_weight_triple(&host, &self.mask, rows).unwrap();
        both(triples, |mut session, this, triple: WeightTriple| {
            session.matmul_weights(if this == party { q } else { &host }, triple, &x, &self.weights[this])
        })
    }

    /// Runs a product of `party` on `q`, and compares its shares with those from the processor.
    fn expect_product(&self, q: &AnyQueue, party: usize) {
        assert!(self.product(q, party, ROWS) == self.product(&cpu(None), party, ROWS), "party {party}");
    }
}

#[test]
fn kept_weights_give_way_to_products_and_gates() {
    let (host, shape) = (cpu(None), SHAPE.product(ROWS));
    for party in [0, 1] {
        let sim = Sim::new("");
        let q = sim.queue(Some(SMALL));
        let (held, live) = (q.buffer_bytes(SHAPE.elements(), 8), || q.budget().live_bytes());
        let [kept, other] = [11, 12].map(Layer::new);

        kept.expect_product(&q, party);
        assert_eq!(live(), held);
        other.expect_product(&q, party);
        assert_eq!(live(), 0);

        kept.expect_product(&q, party);
        assert_eq!(live(), held);
        let on = |q: &AnyQueue| {
            let triples = Dealer::insecure_from_seed(13).deal_matrix(&host, WORDS, shape).unwrap();
            let [left, right, _] = shape.lens();
            let [x, y] = [words(left, 1), words(right, 2)];
            both(triples, |mut session, this, triple| {
                session.matmul(if this == party { q } else { &host }, triple, [&x, &y]).unwrap()
            })
        };
        assert!(on(&q) == on(&host), "party {party}");
        assert_eq!(live(), 0);

        kept.expect_product(&q, party);
        assert_eq!(live(), held);
        assert!(relu(&q, party) == relu(&host, party), "party {party}");
        assert_eq!(live(), 0);

        // A product with more rows than fit does not drop the copy that it uses.
        kept.expect_product(&q, party);
        let [zero, one] = kept.product(&q, party, 300);
        let (refused, other) = if party == 0 { (zero, one) } else { (one, zero) };
        assert!(other.is_ok());
        assert!(matches!(refused, Err(PfssError::Backend(BackendError::BudgetExceeded { .. }))), "{refused:?}");
        assert_eq!(live(), held);
        drop((kept, other));
        assert_eq!(live(), 0);
        drop(q);
        assert_eq!(sim.session.reports(), [], "party {party}");
    }
}

/// One party's shares of a ReLU whose keys take 190 kB.
fn relu(q: &AnyQueue, party: usize) -> Vec<u64> {
    let bundles = Dealer::insecure_from_seed(14).deal(&cpu(None), &Gate::relu(64).unwrap(), 200).unwrap();
    let keys = bundles.into_iter().nth(party).unwrap().with_open_inputs().unwrap();
    let mut step = keys.eval(q, Task::Relu, &words(200, 3)).unwrap();
    loop {
        match step {
            Step::Open(pending) => {
                // the peer's part of the opening is taken to be zero
                let (bits, words) = (vec![0; pending.masked_bits().len()], vec![0; pending.masked_words().len()]);
                step = pending.finish_with(q, &bits, &words).unwrap();
            }
            Step::Done(shares) => return flat(&shares),
        }
    }
}

#[test]
fn weights_keep_one_copy_of_a_device_that_is_closed_and_opened_again() {
    let sim = Sim::new("");
    let layer = Layer::new(11);
    let blocks = |counters: &Counters| counters.allocations - counters.frees;
    let fills = |counters: &Counters| {
        let calls = counters.calls.iter().filter(|(name, _)| name.contains("cuMemsetD8"));
        calls.map(|(_, calls)| calls).sum::<u64>()
    };
    let mut held = 0;
    let (before, mut budgets, mut live) = (blocks(&sim.session.counters()), Vec::<Budget>::new(), Vec::new());
    for _ in 0..10 {
        let q = sim.queue(Some(1 << 20));
        layer.expect_product(&q, 0);
        held = q.buffer_bytes(SHAPE.elements(), 8);
        budgets.push(q.budget().clone());
        drop(q);
        live.push(blocks(&sim.session.counters()));
    }
    assert_eq!(live, [live[0]; 10]);
    let copies: Vec<u64> = budgets.iter().map(Budget::live_bytes).collect();
    assert_eq!(copies, [&[0; 9][..], &[held]].concat());

    let counters = sim.session.counters();
    drop(layer);
    let after = sim.session.counters();
    assert_eq!((fills(&after) - fills(&counters), blocks(&after), budgets[9].live_bytes()), (1, before, 0));
    assert_eq!(sim.session.reports(), []);
}

#[test]
fn a_dealer_without_memory_to_expand_masks_copies_them() {
    let (host, shape) = (cpu(None), MatrixShape { batch: 1, rows: 5, inner: 41, cols: 203 });
    let [left, right, results] = shape.lens();
    let sim = Sim::new("");
    let bytes = |q: &AnyQueue, parts: &[usize]| parts.iter().map(|&len| q.buffer_bytes(len, 8)).sum::<u64>();
    let deal = |q: &AnyQueue| {
        let triples = Dealer::insecure_from_seed(8).deal_matrix(q, WORDS, shape)?;
        Ok::<_, PfssError>(triples.map(|triple| triple.to_bytes()))
    };
    let expanded = |counters: &Counters| counters.launches_of.get("fss_expand_seed").copied().unwrap_or(0);
    // Both masks and their product; with seeds, one buffer of these and of two shares of the larger mask.
    let (idle, room) = (sim.queue(None), left.max(right).next_multiple_of(2));
    let [copying, expanding] = [&[left, right, results][..], &[2 * room + left + right + results]];
    let [copying, expanding] = [copying, expanding].map(|parts| bytes(&idle, parts));
    // With seeds nothing is copied.
    let (seeded, masks) = ((4, 0), 8 * (left + right) as u64);
    for (budget, expected) in [(expanding, seeded), (expanding - 512, (0, masks)), (copying, (0, masks))] {
        let q = sim.queue(Some(budget));
        let before = sim.session.counters();
        assert!(deal(&q).unwrap() == deal(&host).unwrap(), "{budget} bytes");
        let after = sim.session.counters();
        let launched = expanded(&after) - expanded(&before);
        assert_eq!((launched, after.bytes_to_device - before.bytes_to_device), expected, "{budget} bytes");
        assert_eq!(q.budget().live_bytes(), 0);
    }
    drop(idle);
    let refused = deal(&sim.queue(Some(copying - 512))).unwrap_err();
    assert!(matches!(refused, PfssError::Backend(BackendError::BudgetExceeded { .. })), "{refused}");
    assert_eq!(sim.session.reports(), []);
}

#[test]
fn a_dealer_drops_no_more_kept_weights_than_its_product_needs() {
    const LIMIT: u64 = 400 << 10;
    let (host, shape) = (cpu(None), MatrixShape { batch: 1, rows: 5, inner: 41, cols: 203 });
    let [left, right, results] = shape.lens();
    let deal = |q: &AnyQueue| {
        let triples = Dealer::insecure_from_seed(8).deal_matrix(q, WORDS, shape).unwrap();
        triples.map(|triple| triple.to_bytes())
    };
    let expanded = |counters: &Counters| counters.launches_of.get("fss_expand_seed").copied().unwrap_or(0);
    let sim = Sim::new("");
    let idle = sim.queue(None);
    let [kept, expanding, terms] = [
        idle.buffer_bytes(SHAPE.elements(), 8),
        idle.buffer_bytes(2 * left.max(right).next_multiple_of(2) + left + right + results, 8),
        idle.buffer_bytes(2 * size_of::<WordTerm>(), 1),
    ];
    drop(idle);
    // Memory that is free next to two copies, and the seeds that are then expanded on the device.
    for (free, expected) in [
        // One copy has to go for the expansion and its terms.
        (expanding + terms - kept, 4),
        // The expansion would not fit even without both copies. The masks fit without one.
        (expanding - 2 * kept - 512, 0),
    ] {
        let q = sim.queue(Some(LIMIT));
        let layers = [11, 12].map(Layer::new);
        layers.iter().for_each(|layer| layer.expect_product(&q, 0));
        assert_eq!(q.budget().live_bytes(), 2 * kept);
        let others = q.alloc::<u8>((LIMIT - 2 * kept - free) as usize).unwrap();
        assert_eq!(q.budget().live_bytes(), LIMIT - free);

        let before = sim.session.counters();
        assert!(deal(&q) == deal(&host), "{free} bytes");
        let launched = expanded(&sim.session.counters()) - expanded(&before);
        assert_eq!((launched, q.budget().live_bytes()), (expected, LIMIT - free - kept), "{free} bytes");

        // The copy that stayed has its words.
        drop(others);
        layers.iter().for_each(|layer| layer.expect_product(&q, 0));
        drop(layers);
        assert_eq!(q.budget().live_bytes(), 0);
    }
    assert_eq!(sim.session.reports(), []);
}
