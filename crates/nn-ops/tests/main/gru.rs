//! Gradients of weights and inputs of gated recurrent units, by plain loops over their definition.

use nn_ops::{GruGradientPlan, GruInputs, GruPassValues, GruPlan, GruVariant, GruWeights, Init, Tensor};

const MEMBERS: usize = 2;
const BATCH: usize = 2;
const STEPS: usize = 3;
const INPUT: usize = 4;
const HIDDEN: usize = 3;
const GATES: usize = 3 * HIDDEN;

/// The row of the inputs that row `b` of member `m` takes at step `s`.
fn input_row(inputs: GruInputs, m: usize, s: usize, b: usize) -> usize {
    match inputs {
        GruInputs::Sequence => s * BATCH + b,
        GruInputs::MemberSequences => (m * STEPS + s) * BATCH + b,
        GruInputs::Constant => b,
        GruInputs::MemberConstants => m * BATCH + b,
    }
}

/// Gradients of W, U, b and bu of a member.
struct MemberGradients {
    w: [[f64; GATES]; INPUT],
    u: [[f64; GATES]; HIDDEN],
    b: [f64; GATES],
    bu: [f64; HIDDEN],
}

/// The gradients of member `m`, from the inputs, the saved values and the gradients of the gates.
fn model(
    inputs: GruInputs,
    (after, decay, m): (bool, f64, usize),
    x: &[f32],
    saved: &[f32],
    gates: &[f32],
) -> MemberGradients {
    let mut all =
        MemberGradients { w: [[0.0; GATES]; INPUT], u: [[0.0; GATES]; HIDDEN], b: [0.0; GATES], bu: [0.0; HIDDEN] };
    for (s, b) in (0..STEPS).flat_map(|s| (0..BATCH).map(move |b| (s, b))) {
        let (at, x_row) = ((m * STEPS + s) * BATCH + b, input_row(inputs, m, s, b));
        let matrix = |i: usize, j: usize| f64::from(saved[(i * MEMBERS * STEPS * BATCH + at) * HIDDEN + j]);
        let (r, h, reset) = (|j| matrix(1, j), |j| matrix(3, j), |j| matrix(4, j));
        for c in 0..GATES {
            // A step has the weight decay^age.
            let d = decay.powi((STEPS - 1 - s) as i32) * f64::from(gates[at * GATES + c]);
            (0..INPUT).for_each(|i| all.w[i][c] += f64::from(x[x_row * INPUT + i]) * d);
            all.b[c] += d;
            let candidate = c.checked_sub(2 * HIDDEN);
            for k in 0..HIDDEN {
                all.u[k][c] += match candidate {
                    None => h(k) * d,
                    Some(j) if after => h(k) * r(j) * d,
                    Some(_) => reset(k) * d,
                };
            }
            if let Some(j) = candidate {
                all.bu[j] += r(j) * d;
            }
        }
    }
    all
}

fn expect_close(what: &str, got: &[f32], expected: impl IntoIterator<Item = f64>) {
    let expected: Vec<f64> = expected.into_iter().collect();
    assert_eq!(got.len(), expected.len(), "{what}");
    let far = got.iter().zip(&expected).find(|&(&got, expected)| (f64::from(got) - expected).abs() > 1e-5);
    assert_eq!(far, None, "{what}");
}

#[test]
fn gradients_of_every_form_of_inputs_and_decay_are_sums_over_rows_and_steps() {
    let q = runtime::cpu().unwrap();
    let drawn =
        |shape: &[usize], site| Tensor::<_, f32>::random(&q, shape, Init::Uniform { low: -1.0, high: 1.0 }, 3, site);
    for (inputs, variant) in GruInputs::ALL
        .into_iter()
        .flat_map(|inputs| [GruVariant::ResetBefore, GruVariant::ResetAfter].map(|v| (inputs, v)))
    {
        let weights = GruWeights::random(&q, MEMBERS, [INPUT, HIDDEN], variant, 5).unwrap();
        let plan = GruPlan::new(&weights, BATCH, STEPS, inputs).unwrap();
        let x = drawn(plan.inputs().shape(), 0).unwrap();
        let saved = drawn(&[5, MEMBERS, STEPS, BATCH, HIDDEN], 1).unwrap();
        let gates = drawn(&[MEMBERS, STEPS, BATCH, GATES], 2).unwrap();
        let [of_x, of_saved, of_gates] = [&x, &saved, &gates].map(|tensor| tensor.values(&q).unwrap());
        for decay in [1.0f32, 0.5, 0.0] {
            let name = format!("{inputs:?}, {variant:?}, decay {decay}");
            let gradient = GruGradientPlan::new(&plan, decay).unwrap();
            let (mut workspace, mut of_weights) = (gradient.workspace(&q).unwrap(), weights.like(&q).unwrap());
            let values = GruPassValues { x: x.at(), saved: saved.at(), gates: gates.at() };
            gradient.weights(&q, &mut workspace, values, &mut of_weights).unwrap();
            for (m, unit) in of_weights.members(&q).unwrap().iter().enumerate() {
                let after = variant == GruVariant::ResetAfter;
                let expected = model(inputs, (after, decay.into(), m), &of_x, &of_saved, &of_gates);
                expect_close(&name, unit.w(), expected.w.into_iter().flatten());
                expect_close(&name, unit.u(), expected.u.into_iter().flatten());
                expect_close(&name, unit.b(), expected.b);
                expect_close(&name, unit.bu().unwrap_or_default(), expected.bu.into_iter().filter(|_| after));
            }

            // Gradients of the inputs are added to the values there, without decay.
            let mut into = Tensor::from_values(&q, x.layout().shape(), &vec![1.0f32; of_x.len()]).unwrap();
            gradient.add_inputs(&q, &mut workspace, &weights, gates.at(), into.at_mut()).unwrap();
            let mut expected = vec![1.0; of_x.len()];
            for (m, unit) in weights.members(&q).unwrap().iter().enumerate() {
                for (s, b) in (0..STEPS).flat_map(|s| (0..BATCH).map(move |b| (s, b))) {
                    let d = &of_gates[((m * STEPS + s) * BATCH + b) * GATES..][..GATES];
                    for (i, of_input) in unit.w().chunks(GATES).enumerate() {
                        let term: f64 = d.iter().zip(of_input).map(|(&d, &w)| f64::from(d) * f64::from(w)).sum();
                        expected[input_row(inputs, m, s, b) * INPUT + i] += term;
                    }
                }
            }
            expect_close(&name, &into.values(&q).unwrap(), expected);
        }
    }
}
