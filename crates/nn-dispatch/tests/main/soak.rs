//! A thousand steps of training of a transformer block: no growth, and a loss that falls.

use backend_api::Queue;
use nn_dispatch::{
    AdamOptions, AdamState, Affine, BackendDispatcher, Handle, LayerNormGradients, LinearGradients, MatmulGradients,
    Product, SoftmaxMask, TensorOpsAPI,
};
use runtime::Choice;

use crate::common::{on, values};

const ITERATIONS: usize = 1000;

const TOKENS: usize = 4;
const WIDTH: usize = 6;
const HIDDEN: usize = 8;
const EPS: f32 = 1e-5;

/// A weight: its values as a handle, its gradient, and its moments.
struct Weight {
    handle: Handle,
    gradient: Vec<f32>,
    state: AdamState,
}

impl Weight {
    fn new(d: &BackendDispatcher, initial: &[f32]) -> Self {
        let state = AdamState::new(initial.len(), AdamOptions { rate: 0.01, ..AdamOptions::default() }).unwrap();
        Self { handle: d.upload(initial), gradient: vec![0.0; initial.len()], state }
    }

    fn random(d: &BackendDispatcher, seed: u64, rows: usize, columns: usize) -> Self {
        Self::new(d, &values(seed, rows * columns).iter().map(|w| w * 0.4).collect::<Vec<_>>())
    }

    fn step(&mut self, d: &BackendDispatcher) {
        let mut updated = self.handle.values().to_vec();
        d.adam_step(&mut updated, (&self.gradient).into(), &mut self.state).unwrap();
        d.update(&mut self.handle, &updated).unwrap();
    }
}

/// A pre-norm block with one causal head, and a table of token vectors that is its input and its output.
struct CausalBlock {
    table: Weight,
    norms: [[Weight; 2]; 2],
    /// Of queries, keys, values and the result.
    attention: [Weight; 4],
    up: Weight,
    down: Weight,
}

fn add(to: &mut [f32], from: &[f32]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}

fn scaled(x: &[f32]) -> Vec<f32> {
    x.iter().map(|x| x / (WIDTH as f32).sqrt()).collect()
}

impl CausalBlock {
    fn new(d: &BackendDispatcher) -> Self {
        let norm = || [Weight::new(d, &[1.0; WIDTH]), Weight::new(d, &[0.0; WIDTH])];
        Self {
            table: Weight::random(d, 1, TOKENS, WIDTH),
            norms: [norm(), norm()],
            attention: [2, 3, 4, 5].map(|seed| Weight::random(d, seed, WIDTH, WIDTH)),
            up: Weight::random(d, 6, WIDTH, HIDDEN),
            down: Weight::random(d, 7, HIDDEN, WIDTH),
        }
    }

    /// One step of training to predict each next token; the loss before it.
    fn step(&mut self, d: &BackendDispatcher, tokens: &[u32; TOKENS], targets: &[f32]) -> f32 {
        const SQUARE: [usize; 3] = [TOKENS, WIDTH, WIDTH];
        const ROWS: [usize; 2] = [TOKENS, WIDTH];
        const LOGITS: Product = Product::new(TOKENS, WIDTH, TOKENS).transposed_b();
        let room = || vec![f32::NAN; TOKENS * WIDTH];
        let Self { table, norms: [first, second], attention, up, down } = self;

        // Attention, with a residual connection.
        let (mut x, mut normed) = (room(), room());
        let embedded = d.embedding((&table.handle).into(), [TOKENS, WIDTH], tokens, &mut x).unwrap();
        let affine = |norm: &[Weight; 2]| {
            let [gamma, beta] = norm;
            [gamma.handle.values().to_vec(), beta.handle.values().to_vec()]
        };
        let [gamma1, beta1] = affine(first);
        let factors = Affine { gamma: Some((&gamma1).into()), beta: Some((&beta1).into()) };
        let norm1 = d.layer_norm((&x).into(), factors, ROWS, EPS, &mut normed).unwrap();
        let [mut queries, mut keys, mut sent] = [room(), room(), room()];
        let projections = [&mut queries, &mut keys, &mut sent]
            .into_iter()
            .zip(&attention[..3])
            .map(|(y, w)| d.linear((&normed).into(), (&w.handle).into(), None, SQUARE, y).unwrap());
        let projections: Vec<_> = projections.collect();
        let (mut scores, mut shares) = (vec![f32::NAN; TOKENS * TOKENS], vec![f32::NAN; TOKENS * TOKENS]);
        let scored = d.matmul((&queries).into(), (&keys).into(), LOGITS, &mut scores).unwrap();
        let small = scaled(&scores);
        let causal = SoftmaxMask::Causal { offset: 0 };
        let shared = d.softmax((&small).into(), &[TOKENS, TOKENS], 1, causal, &mut shares).unwrap();
        let (mut mixed, mut attended) = (room(), room());
        let mixing = Product::new(TOKENS, TOKENS, WIDTH);
        let combined = d.matmul((&shares).into(), (&sent).into(), mixing, &mut mixed).unwrap();
        let out = (&attention[3].handle).into();
        let projected = d.linear((&mixed).into(), out, None, SQUARE, &mut attended).unwrap();
        add(&mut attended, &x);

        // The perceptron, with a residual connection.
        let [gamma2, beta2] = affine(second);
        let (mut inner, mut result) = (room(), room());
        let (mut wide, mut active) = (vec![f32::NAN; TOKENS * HIDDEN], vec![f32::NAN; TOKENS * HIDDEN]);
        let factors = Affine { gamma: Some((&gamma2).into()), beta: Some((&beta2).into()) };
        let norm2 = d.layer_norm((&attended).into(), factors, ROWS, EPS, &mut inner).unwrap();
        let up_shape = [TOKENS, WIDTH, HIDDEN];
        let raised = d.linear((&inner).into(), (&up.handle).into(), None, up_shape, &mut wide).unwrap();
        let activated = d.gelu((&wide).into(), &mut active).unwrap();
        let down_shape = [TOKENS, HIDDEN, WIDTH];
        let lowered = d.linear((&active).into(), (&down.handle).into(), None, down_shape, &mut result).unwrap();
        add(&mut result, &attended);

        // The loss.
        let mut logits = vec![f32::NAN; TOKENS * TOKENS];
        let read = d.matmul((&result).into(), (&table.handle).into(), LOGITS, &mut logits).unwrap();
        let (loss, measured) = d.cross_entropy((&logits).into(), targets.into(), [TOKENS, TOKENS]).unwrap();

        // Backwards through the perceptron.
        let mut dlogits = vec![f32::NAN; TOKENS * TOKENS];
        d.cross_entropy_backward(&measured, 1.0, &mut dlogits).unwrap();
        let mut dresult = room();
        let gradients = MatmulGradients { a: Some(&mut dresult), b: Some(&mut table.gradient) };
        d.matmul_backward(&read, (&result).into(), (&table.handle).into(), (&dlogits).into(), gradients).unwrap();
        let (mut dactive, mut dwide) = (vec![f32::NAN; TOKENS * HIDDEN], vec![f32::NAN; TOKENS * HIDDEN]);
        let gradients = LinearGradients { x: Some(&mut dactive), w: &mut down.gradient, bias: None };
        d.linear_backward(&lowered, (&active).into(), (&down.handle).into(), (&dresult).into(), gradients).unwrap();
        d.gelu_backward(&activated, (&wide).into(), (&dactive).into(), &mut dwide).unwrap();
        let (mut dinner, mut dattended) = (room(), room());
        let gradients = LinearGradients { x: Some(&mut dinner), w: &mut up.gradient, bias: None };
        d.linear_backward(&raised, (&inner).into(), (&up.handle).into(), (&dwide).into(), gradients).unwrap();
        let [gamma, beta] = second;
        let (dgamma, dbeta) = (Some(&mut gamma.gradient[..]), Some(&mut beta.gradient[..]));
        let gradients = LayerNormGradients { x: &mut dattended, gamma: dgamma, beta: dbeta };
        let (x2, g) = ((&attended).into(), (&dinner).into());
        d.layer_norm_backward(&norm2, x2, Some((&gamma2).into()), g, gradients).unwrap();
        add(&mut dattended, &dresult);

        // Backwards through the attention.
        let (mut dmixed, mut dsent) = (room(), room());
        let [of_queries, of_keys, of_sent, of_out] = attention;
        let gradients = LinearGradients { x: Some(&mut dmixed), w: &mut of_out.gradient, bias: None };
        let out = (&of_out.handle).into();
        d.linear_backward(&projected, (&mixed).into(), out, (&dattended).into(), gradients).unwrap();
        let (mut dshares, mut dsmall) = (vec![f32::NAN; TOKENS * TOKENS], vec![f32::NAN; TOKENS * TOKENS]);
        let gradients = MatmulGradients { a: Some(&mut dshares), b: Some(&mut dsent) };
        d.matmul_backward(&combined, (&shares).into(), (&sent).into(), (&dmixed).into(), gradients).unwrap();
        d.softmax_backward(&shared, (&shares).into(), (&dshares).into(), &mut dsmall).unwrap();
        let (mut dqueries, mut dkeys) = (room(), room());
        let gradients = MatmulGradients { a: Some(&mut dqueries), b: Some(&mut dkeys) };
        let dscores = scaled(&dsmall);
        d.matmul_backward(&scored, (&queries).into(), (&keys).into(), (&dscores).into(), gradients).unwrap();
        let mut dnormed = vec![0.0; TOKENS * WIDTH];
        let flows = [(of_queries, &dqueries), (of_keys, &dkeys), (of_sent, &dsent)];
        for ((weight, g), saved) in flows.into_iter().zip(&projections) {
            let mut part = room();
            let gradients = LinearGradients { x: Some(&mut part), w: &mut weight.gradient, bias: None };
            d.linear_backward(saved, (&normed).into(), (&weight.handle).into(), g.into(), gradients).unwrap();
            add(&mut dnormed, &part);
        }
        let mut dx = room();
        let [gamma, beta] = first;
        let (dgamma, dbeta) = (Some(&mut gamma.gradient[..]), Some(&mut beta.gradient[..]));
        let gradients = LayerNormGradients { x: &mut dx, gamma: dgamma, beta: dbeta };
        d.layer_norm_backward(&norm1, (&x).into(), Some((&gamma1).into()), (&dnormed).into(), gradients).unwrap();
        add(&mut dx, &dattended);
        d.embedding_backward(&embedded, (&dx).into(), &mut table.gradient).unwrap();

        // The steps.
        let norms = self.norms.iter_mut().flatten();
        let weights = norms.chain(&mut self.attention).chain([&mut self.table, &mut self.up, &mut self.down]);
        weights.for_each(|weight| weight.step(d));
        loss
    }
}

/// Bytes of all buffers, now and at most.
fn usage(d: &BackendDispatcher) -> [u64; 2] {
    d.queue().finish().unwrap();
    [d.queue().budget().live_bytes(), d.queue().budget().peak_bytes()]
}

fn soak(device: Choice) {
    let d = on(device);
    let start = usage(&d)[0];
    let mut block = CausalBlock::new(&d);
    let (tokens, mut targets) = ([2u32, 0, 3, 1], vec![0.0; TOKENS * TOKENS]);
    for (row, next) in [0usize, 3, 1, 2].into_iter().enumerate() {
        targets[row * TOKENS + next] = 1.0;
    }
    let first = block.step(&d, &tokens, &targets);
    let [live, _] = usage(&d);
    // Moments and device copies are made in the first step; the second is the first that begins with them.
    let mut last = block.step(&d, &tokens, &targets);
    let [_, peak] = usage(&d);
    for _ in 2..ITERATIONS {
        last = block.step(&d, &tokens, &targets);
        assert_eq!(usage(&d), [live, peak]);
    }
    assert!(last < 0.1 * first, "the loss went from {first} to {last}");
    assert_eq!((d.counters().fallbacks, d.counters().mixed), (0, 0));
    drop(block);
    assert_eq!(usage(&d)[0], start);
}

#[test]
fn a_block_on_the_processor_takes_what_its_first_step_took() {
    soak(Choice::Cpu);
}

#[test]
fn a_block_on_the_simulated_device_takes_what_its_first_step_took() {
    soak(Choice::Sim);
}
