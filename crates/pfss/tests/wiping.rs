//! No key material is left in freed memory.
//!
//! The allocator serves the whole test program. Tests that watch it run in separate processes.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    array,
    cell::Cell,
    hint::black_box,
    mem,
    num::NonZeroUsize,
    ptr, slice,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst},
    time::Duration,
};

use pfss::{
    Channel, ChannelError, Dealer, DeviceShares, Gate, GateKind, Interval, KeyBundle, MatrixShape, MatrixTriple,
    MemoryChannel, OpenedWeights, Party, Predicate, Session, Task, WeightKey, WeightShape, WeightTriple,
    batch::{BatchConfig, Job, SuperBatch},
    memory_pair,
    suf::{CoeffMode, SufModes},
};
use runtime::{AnyQueue, Choice, Domain, Settings};
use test_process::alone;

use crate::common::{WORDS, descriptor, queues::Sim, suf_gate, words};

/// The system's allocator, which counts the bytes that the current thread asks for and, while a test watches, looks for secrets in
/// memory that is given back.
struct Scanning;

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

/// The bytes allocated by the current thread so far.
pub(crate) fn asked_bytes() -> usize {
    ASKED.with(Cell::get)
}

static WATCHED: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];
/// Blocks of this many bytes have to be zero when they are given back; 0 watches none.
static BLOCK: AtomicUsize = AtomicUsize::new(0);
static FOUND: AtomicUsize = AtomicUsize::new(0);
/// Watched blocks given back.
static SEEN: AtomicUsize = AtomicUsize::new(0);

/// Whether memory that is given back is looked at: only in the processes of this file's tests.
fn watches() -> bool {
    WATCHED[0].load(SeqCst) != 0 || BLOCK.load(SeqCst) != 0
}

fn count(bytes: usize) {
    ASKED.with(|asked| asked.set(asked.get().saturating_add(bytes)));
}

// SAFETY: every call goes to `System`, unchanged but for zeros. Memory is read before it is given back, while it is still valid
// for its whole layout; scanning neither allocates nor writes. The counter is a thread-local without a destructor, so counting
// neither allocates nor touches freed memory.
unsafe impl GlobalAlloc for Scanning {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // Zeroed, so that `dealloc` never reads uninitialised memory.
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { self.alloc(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let old_size = layout.size();
        if watches() || new_size > old_size {
            // SAFETY: the caller promises a size that does not overflow when it is rounded up to the alignment.
            let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
            // SAFETY: the caller promises that the new size is not zero.
            let new = unsafe { self.alloc(new_layout) };
            if !new.is_null() {
                // SAFETY: both blocks are live, distinct, and at least this long.
                unsafe { ptr::copy_nonoverlapping(ptr, new, old_size.min(new_size)) };
                // SAFETY: `ptr` came from this allocator with this `layout`, as the caller promises.
                unsafe { self.dealloc(ptr, layout) };
            }
            return new;
        }
        count(new_size);
        // SAFETY: the caller's promises are passed on. The block does not grow, so all of it stays initialised.
        unsafe { System.realloc(ptr, layout, new_size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        if watches() {
            // SAFETY: the block is live, initialised by `alloc`, and `layout.size()` bytes long.
            let block = unsafe { slice::from_raw_parts(ptr, layout.size()) };
            scan(block);
        }
        // SAFETY: `ptr` came from `System` with this `layout`, as the caller promises.
        unsafe { System.dealloc(ptr, layout) }
    }
}

/// Counts the watched words of a block, or its bytes that are not zero.
fn scan(block: &[u8]) {
    if WATCHED[0].load(SeqCst) != 0 {
        for word in block.as_chunks::<8>().0 {
            let word = u64::from_le_bytes(*word);
            if word != 0 && WATCHED.iter().any(|watched| watched.load(SeqCst) == word) {
                FOUND.fetch_add(1, SeqCst);
            }
        }
    }
    if !block.is_empty() && block.len() == BLOCK.load(SeqCst) {
        FOUND.fetch_add(block.iter().filter(|&&byte| byte != 0).count(), SeqCst);
        SEEN.fetch_add(1, SeqCst);
    }
}

#[global_allocator]
static ALLOCATOR: Scanning = Scanning;

/// A queue without worker threads: to start some copies parts of the stack into memory of the thread pool.
pub(crate) fn queue() -> AnyQueue {
    let settings = Settings { threads: NonZeroUsize::new(1), ..Settings::default() };
    runtime::open_with(&settings, Some(Domain::Pfss), Some(Choice::Cpu)).unwrap().0
}

/// Words found in memory freed by `run`, which drops the queues that it uses: they keep the memory of buffers until then.
pub(crate) fn found(watched: [u64; 4], run: impl FnOnce()) -> usize {
    FOUND.store(0, SeqCst);
    WATCHED.iter().zip(watched).for_each(|(slot, word)| slot.store(word, SeqCst));
    run();
    WATCHED.iter().for_each(|slot| slot.store(0, SeqCst));
    FOUND.load(SeqCst)
}

/// Blocks of `bytes` bytes that `run` gave back, and the bytes of these that were not zero.
pub(crate) fn blocks(bytes: usize, run: impl FnOnce()) -> (usize, usize) {
    FOUND.store(0, SeqCst);
    SEEN.store(0, SeqCst);
    BLOCK.store(bytes, SeqCst);
    run();
    BLOCK.store(0, SeqCst);
    (SEEN.load(SeqCst), FOUND.load(SeqCst))
}

/// Bytes of the memory that holds a buffer of `bytes` of the processor's queue, which starts on a cache line.
pub(crate) fn buffer(bytes: usize) -> usize {
    bytes + 64
}

/// The first words of the section of roots, of the truth table or of the seed, and of additive shares.
///
/// The shares are the last row where the bytes hold them, and else, from a seed, the masks of the first input.
fn secrets(bundle: KeyBundle) -> [u64; 4] {
    let (bytes, sections) = (bundle.to_bytes(), bundle.sections());
    let at = |i: usize| u64::from_le_bytes(bytes[i..i + 8].try_into().unwrap());
    let first = sections.iter().find(|section| section.name != "program").unwrap().offset as usize;
    let [share, next] = match sections.iter().find(|section| section.name == "additive shares") {
        Some(words) => {
            let row = (words.offset + 8 * 32 * (words.dims[0] - 1)) as usize;
            [at(row), at(row + 8)]
        }
        None => {
            let (masked, _) = bundle.mask(&[0; 20]).unwrap();
            [masked[0], masked[1]]
        }
    };
    [at(first), at(first + 8), share, next]
}

/// A parabola and a constant.
fn clipped(coeffs: CoeffMode) -> Gate {
    let desc = descriptor(64, &[], &[], &[(0, &[&[0, 1, 1]]), (1 << 20, &[&[7]])]);
    suf_gate(desc, SufModes { coeffs, ..SufModes::default() })
}

#[test]
fn the_scanner_sees_a_plain_copy() {
    alone(|| {
        let words = [0x0123_4567_89ab_cdef, 2, 3, 4];
        assert!(found(words, || drop(black_box(words.to_vec()))) > 0);
    });
}

#[test]
fn dealing_serialising_reading_evaluating_and_dropping_leave_no_seeds_roots_tables_or_shares() {
    alone(|| {
        let gates = [
            Gate::relu(64).unwrap(),
            Gate::gap_ars(64, 12).unwrap(),
            Gate::gap_ars(64, 12).and_then(Gate::in_one_round).unwrap(),
            Gate::truncate_reduce(64, 5).unwrap(),
            Gate::interval_powers(64, 3).unwrap(),
            Gate::lrs(64, 12).unwrap(),
            Gate::ars(64, 12).unwrap(),
            Gate::relu_ars(64, 12).unwrap(),
            Gate::sign_predicates(64).unwrap().with_masks(3).unwrap(),
            Gate::lut(8, 64).unwrap(),
            Gate::product(64).unwrap(),
            clipped(CoeffMode::MaskedSelect),
            clipped(CoeffMode::IntervalLut),
            clipped(CoeffMode::StepDcf),
        ];
        for (gate, party) in gates.iter().flat_map(|gate| [(gate, 0), (gate, 1)]) {
            let deal = |q: &_| Dealer::insecure_from_seed(8).deal(q, gate, 20).unwrap().into_iter().nth(party).unwrap();
            let watched = secrets(deal(&queue()));
            let x_hat: Vec<u64> = (0..20).map(|i| 1000 + i).collect();
            let leftovers = found(watched, || {
                let q = queue();
                let bundle = KeyBundle::from_bytes(&deal(&q).to_bytes()).unwrap().insecure_reusable();
                let keys = bundle.with_open_inputs().unwrap();
                match gate.kind() {
                    GateKind::Relu => drop(keys.eval(&q, Task::Relu, &x_hat).unwrap()),
                    GateKind::Lrs => drop(keys.eval(&q, Task::Lrs, &x_hat).unwrap()),
                    GateKind::Ars => drop(keys.eval(&q, Task::Ars, &x_hat).unwrap()),
                    GateKind::ReluArs => drop(keys.eval(&q, Task::ReluArs, &x_hat).unwrap()),
                    GateKind::Lut => drop(keys.eval(&q, Task::Lut(&[1 << 40; 256]), &x_hat).unwrap()),
                    GateKind::Product => drop(keys.eval(&q, Task::Product, &[1, 2].repeat(20)).unwrap()),
                    GateKind::Suf => drop(keys.eval(&q, Task::Suf, &x_hat).unwrap()),
                    GateKind::TruncateReduce => drop(keys.eval(&q, Task::TruncateReduce, &x_hat).unwrap()),
                    GateKind::SignPredicates => {
                        drop(keys.eval(&q, Task::Predicates(&[Predicate::NonNegative; 3]), &x_hat).unwrap());
                    }
                    _ => drop(keys),
                }
            });
            assert_eq!(leftovers, 0, "{gate:?} of party {party}");
        }
    });
}

#[test]
fn bundles_that_move_leave_no_seed() {
    alone(|| {
        let deal = |q: &_| {
            let [zero, _] = Dealer::insecure_from_seed(8).deal(q, &Gate::relu(64).unwrap(), 20).unwrap();
            zero
        };
        let watched = secrets(deal(&queue()));
        let leftovers = found(watched, || {
            let q = queue();
            let mut bundles = Vec::with_capacity(1);
            bundles.extend([deal(&q)]);
            bundles.push(deal(&q)); // moves the first
            let mut batch = SuperBatch::new(&q, None, BatchConfig::default()).unwrap();
            for bundle in bundles {
                let keys = bundle.with_open_inputs().unwrap();
                batch.enqueue(Job::new(Task::Relu, keys, vec![1000; 20])).unwrap();
            }
            batch.flush().unwrap();
        });
        assert_eq!(leftovers, 0);
    });
}

#[test]
fn masking_the_factors_of_a_product_leaves_no_share_of_them() {
    alone(|| {
        let (q, mut dealer) = (queue(), Dealer::insecure_from_seed(9));
        let mut deal = || dealer.deal(&q, &Gate::product(64).unwrap(), 2).unwrap();
        let watched = [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb, 0xd6e8_feb8_6659_fd93];
        let (x, y) = watched.split_at(2);
        let [keys, _] = deal();
        assert_eq!(found(watched, || drop(keys.mask_factors(x, y).unwrap())), 0);

        let ([keys_zero, keys_one], (zero, one)) = (deal(), memory_pair(Duration::from_secs(20)));
        let run = || {
            let q = queue();
            test_process::scope(|scope| {
                scope.spawn(|| drop(Session::new(zero).product(&q, keys_zero, [x, y]).unwrap()));
                drop(Session::new(one).product(&q, keys_one, [&[1, 2], &[3, 4]]).unwrap());
            });
        };
        assert_eq!(found(watched, run), 0);
    });
}

/// A peer of party 0 that sends every message back, and keeps the bodies of all.
pub(crate) struct Echo(pub(crate) Vec<u8>);

impl Channel for Echo {
    fn party(&self) -> Party {
        Party::Zero
    }

    fn send(&mut self, _: &[u8]) -> Result<(), ChannelError> {
        Err(ChannelError::Lost { doing: "sending" })
    }

    fn recv(&mut self, _: usize) -> Result<Vec<u8>, ChannelError> {
        Err(ChannelError::Lost { doing: "receiving" })
    }

    fn exchange(&mut self, message: &[u8]) -> Result<Vec<u8>, ChannelError> {
        self.0.extend_from_slice(&message[16..]);
        Ok(message.to_vec())
    }
}

/// Party 0's shares of masks, which it sends for factors of zeros, and the result of `run`.
///
/// The echo doubles the masked zeros `a` and `b`. So the share of their product is the
/// dealer's `c`: `2 a 2 b - 2 a b - a 2 b + c` is `c`.
pub(crate) fn shares_of_zeros<T>(run: impl FnOnce(&mut Session<&mut Echo>) -> T) -> (Vec<u64>, T) {
    let mut echo = Echo(Vec::new());
    let products = run(&mut Session::new(&mut echo));
    (echo.0.as_chunks::<8>().0.iter().map(|&word| u64::from_le_bytes(word)).collect(), products)
}

/// The last word of the bytes of a triple: party 1's share of the product.
fn last_word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(*bytes.last_chunk().unwrap())
}

/// A product of shares in the memory of one of its forms.
type Multiply = fn(&mut Session<MemoryChannel>, &AnyQueue, MatrixTriple, [&[u64]; 2]);

/// Products of factors in host memory, on a device, and on a device by a factor in host memory.
const PRODUCTS: [Multiply; 3] = [
    |session, q, triple, factors| drop(session.matmul(q, triple, factors).unwrap()),
    |session, q, triple, factors| {
        let [x, y] = factors.map(|factor| DeviceShares::upload(q, session.party(), WORDS, factor).unwrap());
        drop(session.matmul_on_device(triple, [&x, &y]).unwrap());
    },
    |session, q, triple, [x, y]| {
        let x = DeviceShares::upload(q, session.party(), WORDS, x).unwrap();
        drop(session.matmul_by_host_on_device(triple, &x, y).unwrap());
    },
];

#[test]
fn multiplying_matrices_leaves_no_share_of_the_triple_or_of_a_factor() {
    alone(|| {
        let shape = MatrixShape { batch: 2, rows: 3, inner: 4, cols: 5 };
        let [left, right, _] = shape.lens();
        let deal = |q: &AnyQueue| Dealer::insecure_from_seed(10).deal_matrix(q, WORDS, shape).unwrap();
        let (zeros, [triple, other]) = ([left, right].map(|len| vec![0; len]), deal(&queue()));
        let (masks, product) = shares_of_zeros(|session| {
            session.matmul(&queue(), triple, zeros.each_ref().map(|zeros| &zeros[..])).unwrap()
        });
        let [x, y] = [left, right].map(|len| words(len, len as u64));
        // In the heap: threads that start may copy parts of the stack.
        let mut all = vec![masks[0], masks[left], product[0], last_word(&other.to_bytes())];
        all.extend([x[0], x[left - 1], y[0], y[right - 1]]);
        drop((masks, product, other));
        for (form, multiply) in PRODUCTS.iter().enumerate() {
            for watched in all.as_chunks().0 {
                let (zero, one) = memory_pair(Duration::from_secs(20));
                let run = || {
                    let q = queue();
                    drop(deal(&q));
                    let [zero_triple, one_triple] = deal(&q);
                    test_process::scope(|scope| {
                        scope.spawn(|| multiply(&mut Session::new(zero), &q, zero_triple, [&x, &y]));
                        multiply(&mut Session::new(one), &q, one_triple, [&x, &y]);
                    });
                };
                assert_eq!(found(*watched, run), 0, "form {form}");
            }
        }
    });
}

#[test]
fn multiplying_by_opened_weights_leaves_no_share_of_their_mask_or_of_the_triple() {
    alone(|| {
        let (shape, rows) = (WeightShape { inner: 4, cols: 5 }, 3);
        let deal = |q: &AnyQueue| {
            let mut dealer = Dealer::insecure_from_seed(11);
            let (keys, mask) = dealer.deal_weights(WORDS, shape).unwrap();
            (keys, dealer.deal_weight_triple(q, &mask, rows).unwrap())
        };
        let ([key, _], [triple, other]) = deal(&queue());
        let (masks, product) = shares_of_zeros(|session| {
            let q = queue();
            let weights = session.open_weights(&q, key, &[0; 20]).unwrap();
            session.matmul_weights(&q, triple, &[0; 12], &weights).unwrap()
        });
        let watched = [masks[0], masks[20], product[0], last_word(&other.to_bytes())];
        drop((masks, product, other));
        let ([x, y], (zero, one)) =
            ([12, 20].map(|len| (1000..1000 + len).collect::<Vec<u64>>()), memory_pair(Duration::from_secs(20)));
        let run = || {
            let q = queue();
            drop(deal(&q));
            let ([zero_key, one_key], [zero_triple, one_triple]) = deal(&q);
            test_process::scope(|scope| {
                scope.spawn(|| {
                    let mut session = Session::new(zero);
                    let weights = session.open_weights(&q, zero_key, &y).unwrap();
                    let weights = OpenedWeights::from_bytes(&weights.to_bytes()).unwrap();
                    drop(session.matmul_weights(&q, zero_triple, &x, &weights).unwrap());
                });
                let mut session = Session::new(one);
                let weights = session.open_weights(&q, one_key, &y).unwrap();
                drop(session.matmul_weights(&q, one_triple, &x, &weights).unwrap());
            });
        };
        assert_eq!(found(watched, run), 0);
    });
}

/// Shares of single points, which no result shows: each buffer has a size that nothing else has.
#[test]
fn evaluating_leaves_no_share_of_a_point_in_queue_memory() {
    alone(|| {
        let q = queue();
        let keys = |gate: Gate, count: usize| {
            let [bundle, _] = Dealer::insecure_from_seed(8).deal(&q, &gate, count).unwrap();
            bundle.with_open_inputs().unwrap()
        };
        let x_hat = |count: u64| (0..count).map(|i| 1000 + i * 77).collect::<Vec<u64>>();

        // payloads of 3 words at the 5 ends of 4 intervals
        let ends = [3, 900, 5000, 70_000, 1 << 40];
        let intervals: Vec<_> = ends.windows(2).map(|ends| Interval { start: ends[0], end: Some(ends[1]) }).collect();
        let powers = keys(Gate::interval_powers(64, 2).unwrap(), 1001);
        let watched = blocks(buffer(8 * 5 * 3 * 1001), || {
            let q = queue();
            drop(powers.eval(&q, Task::IntervalPowers(&intervals), &x_hat(1001)).unwrap())
        });
        assert!(watched.0 > 0 && watched.1 == 0, "{watched:?}");

        // bits of 3 predicates at 5 points, and the sums that they make
        let interval = |start, end| Predicate::Interval(Interval { start, end: Some(end) });
        let predicates = [interval(3, 900), interval(5000, 70_000), Predicate::Lt { beta: 1 << 40 }];
        let compare = keys(Gate::full_predicates(64).unwrap(), 32 * 1001);
        let watched = blocks(buffer(4 * (6 + 3) * 1001), || {
            let q = queue();
            drop(compare.eval(&q, Task::PredicateBits(&predicates), &x_hat(32 * 1001)).unwrap())
        });
        assert!(watched.0 > 0 && watched.1 == 0, "{watched:?}");

        // the unit vectors of a table of 2^8 words
        let table = keys(Gate::lut(8, 64).unwrap(), 1001);
        let watched = blocks(buffer(16 * 2 * 1001), || {
            let q = queue();
            drop(table.eval(&q, Task::Lut(&[1 << 40; 256]), &x_hat(1001)).unwrap())
        });
        assert!(watched.0 > 0 && watched.1 == 0, "{watched:?}");
    });
}

/// Elements of each buffer of shares, so that nothing else has its size.
const SHARES: usize = 970;
/// A product of matrices whose first factor and result have that many elements.
const MATRICES: MatrixShape = MatrixShape { batch: 1, rows: 97, inner: 10, cols: 10 };

/// Party 0's keys for [`on_device`].
struct DeviceKeys {
    bundles: [KeyBundle; 3],
    matrix: MatrixTriple,
    weights: WeightKey,
    by_weights: WeightTriple,
}

impl DeviceKeys {
    fn deal() -> Self {
        let (q, mut dealer) = (queue(), Dealer::insecure_from_seed(8));
        let one_round = Gate::gap_ars(64, 12).and_then(Gate::in_one_round).unwrap();
        let bundles = [Gate::relu(64).unwrap(), one_round, Gate::product(64).unwrap()].map(|gate| {
            let [zero, _] = dealer.deal(&q, &gate, SHARES).unwrap();
            zero
        });
        let [matrix, _] = dealer.deal_matrix(&q, WORDS, MATRICES).unwrap();
        let ([weights, _], mask) = dealer.deal_weights(WORDS, WeightShape { inner: 10, cols: 10 }).unwrap();
        let [by_weights, _] = dealer.deal_weight_triple(&q, &mask, MATRICES.rows).unwrap();
        Self { bundles, matrix, weights, by_weights }
    }
}

/// Factors of results on a processor: copies for the host are watched too.
const COPIED: [u64; 2] = [1, 1];
/// Factors of results on a simulated device, which copies through host memory.
const SCALED: [u64; 2] = [7, 5];

/// The results of gates, sums and products of matrices on shares that stay on the device.
///
/// Results that are copied to the host again are multiplied by the factors before.
fn on_device<'q>(q: &'q AnyQueue, x: &[u64], keys: DeviceKeys, factors: [u64; 2]) -> [DeviceShares<'q, AnyQueue>; 16] {
    let DeviceKeys { bundles: [relu, shift, product], matrix, weights, by_weights } = keys;
    let mut echo = Echo(Vec::new());
    let mut session = Session::new(&mut echo);
    let x = DeviceShares::upload(q, Party::Zero, WORDS, x).unwrap();
    let factor = DeviceShares::upload(q, Party::Zero, WORDS, &[3; 100]).unwrap();
    let weights = session.open_weights(q, weights, &[5; 100]).unwrap();
    let cert = pfss::SignedRange::of_bits(40).gap_cert(64).unwrap();
    let positive = session.run_on_device(Task::Relu, relu, &x).unwrap();
    let shifted = session.run_on_device(Task::GapArs(cert), shift, &positive).unwrap();
    let product = session.product_on_device(product, [&x, &shifted]).unwrap();
    let sum = product.add(&x).unwrap().sub(&shifted).unwrap();
    let scaled = sum.scale(3).unwrap();
    let biased = scaled.add_public(&[9; SHARES]).unwrap();
    let matrices = session.matmul_on_device(matrix, [&biased, &factor]).unwrap();
    let by_weights = session.matmul_weights_on_device(by_weights, &matrices, &weights).unwrap();
    // Inputs of gates and factors have been copied, and staged results too.
    let [positive, shifted] = [positive, shifted].map(|copied| copied.scale(factors[0]).unwrap());
    let [biased, matrices, by_weights] = [biased, matrices, by_weights].map(|copied| copied.scale(factors[1]).unwrap());
    let gates_and_sums = [positive, shifted, product, sum, scaled, biased, matrices, by_weights];
    let arranged = arranged(&x, &gates_and_sums[5]);
    let mut results = gates_and_sums.into_iter().chain(arranged);
    array::from_fn(|_| results.next().unwrap())
}

/// Shares at other places, and sums over rows.
///
/// Those that a device copies, without a kernel, are multiplied afterwards. The words that tests look for are not from the
/// last rows: the last block of a matrix product leaves these in shared memory.
fn arranged<'q>(x: &DeviceShares<'q, AnyQueue>, y: &DeviceShares<'q, AnyQueue>) -> [DeviceShares<'q, AnyQueue>; 8] {
    let row = y.slice(0..10).unwrap();
    let (slice, narrow) = (x.slice(2..SHARES).unwrap(), x.in_ring(pfss::Ring::new(63).unwrap()).unwrap());
    let joined = DeviceShares::concat(&[&slice, &x.slice(0..2).unwrap()]).unwrap();
    let places: Vec<Option<u32>> = (0..SHARES as u32).map(|e| (e != 3).then_some(7 * e % SHARES as u32)).collect();
    [
        y.add_rows(&row).unwrap(),
        y.add_public_rows(&[8; 10]).unwrap(),
        y.permuted(&[5, 194], &[1, 0]).unwrap(),
        y.repeated(2).unwrap(),
        y.row_sums(10).unwrap(),
        y.gathered(&places).unwrap(),
        joined.scale(0x1234_5677).unwrap(),
        narrow.scale(0x1234_5679).unwrap(),
    ]
}

/// A word of each result, computed by a processor.
fn results(x: &[u64], factors: [u64; 2]) -> [u64; 16] {
    on_device(&queue(), x, DeviceKeys::deal(), factors).map(|result| result.download().unwrap()[77])
}

pub(crate) fn shares() -> Vec<u64> {
    (1..=SHARES as u64).map(|e| e.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
}

#[test]
fn shares_of_a_processors_queue_leave_no_share_in_its_memory_or_in_host_memory() {
    alone(|| {
        let (x, keys) = (shares(), DeviceKeys::deal());
        let watched = blocks(buffer(8 * SHARES), || drop(on_device(&queue(), &x, keys, COPIED)));
        assert!(watched.0 > 0 && watched.1 == 0, "{watched:?}");
        let results = results(&x, COPIED);
        for watched in [[x[0], x[1], x[500], x[SHARES - 1]]].iter().chain(results.as_chunks().0) {
            let keys = DeviceKeys::deal();
            assert_eq!(found(*watched, || drop(on_device(&queue(), &x, keys, COPIED))), 0);
        }
    });
}

/// Results that kernels write and nothing copies: the simulated driver copies through host memory.
#[test]
fn shares_in_device_memory_leave_no_result_there() {
    alone(|| {
        let x = shares();
        let results = results(&x, SCALED);
        let on_sim = |keys, is_dropped: bool| {
            let sim = Sim::new("");
            let q = sim.queue(None);
            let results = on_device(&q, &x, keys, SCALED);
            if is_dropped {
                drop(results)
            } else {
                mem::forget(results)
            }
            drop(q);
            drop(sim);
            drop(Sim::new("")); // frees the memory of the first machine
        };
        for watched in results.as_chunks::<4>().0 {
            let [first, second] = [DeviceKeys::deal(), DeviceKeys::deal()];
            let kept = found(*watched, || on_sim(first, false));
            assert!(kept >= 4, "results that are not dropped are seen: {kept}");
            assert_eq!(found(*watched, || on_sim(second, true)), 0);
        }
    });
}
