//! Rollouts, compared with their definition in every mode.
//!
//! Neither the batch size nor a split into calls changes their bits.

use backend_api::{
    BackendError, Buffer, Queue, Real,
    ops::recurrent::{GruLayer, RecurrentOps, RssmRollout},
};
use core_types::params::recurrent::{Feedback, GruInputs, GruVariant, LossHead, RolloutParams, StateMask, Stochastic};
use half::{bf16, f16};

use super::{
    forward::{of_type, rounded, unless_all_close},
    model::{EnsembleInputs, RecurrentSizes, StateChange, head_loss, second_part, values},
};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _, spec::BATCHES};

/// An ensemble with its head and first losses.
#[derive(Clone)]
struct Rollout {
    params: RolloutParams,
    inputs: EnsembleInputs,
    head: Vec<f32>,
    /// Factors and addends of normalised states.
    norm: Option<[Vec<f32>; 2]>,
    /// The weights and biases that make features of states.
    back: Option<[Vec<f32>; 2]>,
    losses: Vec<f32>,
}

/// The outputs of a roll-out.
struct RolloutResults<R> {
    trajectory: Vec<R>,
    last: Vec<R>,
    combined: Vec<R>,
    entropy: Vec<R>,
    states: Vec<R>,
}

/// A second part of the state, a head and a feedback.
#[derive(Clone, Copy, Debug)]
struct Mode(Stochastic, LossHead, Feedback);

const PARTS: [Stochastic; 3] = [Stochastic::StridedSoftmax, Stochastic::CopyHidden, Stochastic::Zeros];
const HEADS: [LossHead; 2] = [LossHead::ExpClamped, LossHead::Linear];
const DEFAULT: Mode = Mode(Stochastic::StridedSoftmax, LossHead::ExpClamped, Feedback::PerMember);

/// Members, batch, steps, features, states and elements of the second part.
///
/// They are sizes around vectors, the lanes of a warp and the threads of a block, more features
/// than a block holds at a time, more elements than states, no elements, and no step.
const SIZES: [[usize; 6]; 11] = [
    [1, 1, 1, 1, 1, 1],
    [2, 3, 4, 5, 8, 4],
    [1, 2, 1, 67, 5, 2],
    [3, 5, 2, 9, 17, 3],
    [2, 17, 3, 66, 33, 32],
    [1, 6, 2, 4, 48, 33],
    [2, 3, 3, 3, 34, 5],
    [1, 3, 2, 3, 300, 7],
    [2, 2, 3, 4, 5, 11],
    [2, 3, 2, 4, 6, 0],
    [2, 3, 0, 4, 6, 3],
];

/// Members, states, features, steps, and the first loss.
///
/// They are the sizes in the tests of hybrid-predict-trainer-rs.
const PUBLISHED: [([usize; 4], f32); 5] = [
    ([2, 16, 8, 5], 1.5),
    ([3, 64, 16, 1], 2.0),
    ([3, 64, 16, 10], 2.5),
    ([3, 128, 32, 20], 2.5),
    ([5, 256, 64, 50], 2.5),
];

/// The inputs of the tests of hybrid-predict-trainer-rs.
///
/// Member e has input weights `0.01 (e + 1) sin(a j)` and state weights `0.01 (e + 1) cos(a j)`,
/// where a is 0.1, 0.2 and 0.3 for the three gates and j counts along rows of a state's weights.
/// There are no biases; states are 0.5, features 1, and the head 0.01.
fn published([members, hidden, input, steps]: [usize; 4], loss: f32) -> Rollout {
    let mode = Mode(Stochastic::CopyHidden, LossHead::ExpClamped, Feedback::PerMember);
    let mut rollout = Rollout::new([members, 1, steps, input, hidden, 0], GruVariant::ResetBefore, mode);
    let weights = |columns: usize, wave: fn(f32) -> f32| {
        let at = move |member: usize, column: usize, gate: usize, state: usize| {
            let angle = (state * columns + column) as f32 * [0.1, 0.2, 0.3][gate];
            0.01 * (member as f32 + 1.0) * wave(angle)
        };
        let rows = (0..members).flat_map(move |member| (0..columns).map(move |column| (member, column)));
        let gates = rows.flat_map(|(member, column)| (0..3).map(move |gate| (member, column, gate)));
        let all =
            gates.flat_map(|(member, column, gate)| (0..hidden).map(move |state| at(member, column, gate, state)));
        all.list()
    };
    let inputs = &mut rollout.inputs;
    (inputs.w, inputs.u) = (weights(input, f32::sin), weights(hidden, f32::cos));
    inputs.b.fill(0.0);
    inputs.x.fill(1.0);
    inputs.h0 = Some(vec![0.5; members * hidden]);
    rollout.head.fill(0.01);
    rollout.losses.fill(loss);
    rollout
}

impl Rollout {
    fn new([members, batch, steps, input, hidden, stochastic]: [usize; 6], variant: GruVariant, mode: Mode) -> Self {
        let Mode(part, head, feedback) = mode;
        let stochastic = if part == Stochastic::CopyHidden { hidden } else { stochastic };
        let form = if feedback == Feedback::None { GruInputs::Sequence } else { GruInputs::Constant };
        let inputs = EnsembleInputs::new(RecurrentSizes { members, batch, steps, input, hidden }, variant, form);
        let back = || [values(18, hidden * input, 2.0 / (hidden as f32).sqrt()), values(19, input, 0.5)];
        let (gru, stochastic_len, mask) = (inputs.params, stochastic as u64, StateMask::NONE);
        let params = RolloutParams { gru, stochastic: stochastic_len, part, head, feedback, eps: 0.0, mask };
        let limit = (1.0 / (hidden + stochastic) as f32).sqrt();
        Self {
            params,
            head: values(7, hidden + stochastic, 2.0 * limit),
            losses: values(8, members * batch, 3.0),
            norm: None,
            back: (feedback == Feedback::State).then(back),
            inputs,
        }
    }

    /// Normalises or drops states before they are read.
    ///
    /// The probability of dropping a state is three in eight.
    fn changed(mut self, normalised: bool, dropped: bool) -> Self {
        let hidden = self.params.gru.hidden as usize;
        if normalised {
            self.params.eps = 1e-3;
            self.norm = Some([values(16, hidden, 1.0), values(17, hidden, 0.5)]);
        }
        if dropped {
            self.params.mask = StateMask { seed: 77, threshold: 3 << 29, site: 2, step: 9, scale: 1.6, reserved: 0 };
        }
        self
    }

    /// The state of a row after a step as it is read.
    fn read(&self, member: usize, step: usize, row: usize, h: &[f64]) -> Vec<f64> {
        let p = &self.params.gru;
        let first = ((member * p.steps.max(1) as usize + step) * p.batch as usize + row) * h.len();
        let change = StateChange { norm: self.norm.clone(), eps: self.params.eps, mask: self.params.mask };
        change.apply(first as u64, h)
    }

    /// The features that the state `h` is mapped to.
    fn mapped(&self, h: &[f64]) -> Vec<f64> {
        let Some([weights, biases]) = &self.back else { return Vec::new() };
        let product = |feature: usize| {
            let weights = weights[feature..].iter().step_by(biases.len());
            h.iter().zip(weights).map(|(h, &weight)| h * f64::from(weight)).sum::<f64>()
        };
        biases.iter().enumerate().map(|(feature, &bias)| product(feature) + f64::from(bias)).list()
    }

    /// The second part of the state `h`, and its entropy.
    fn part(&self, h: &[f64]) -> (Vec<f64>, f64) {
        let part = second_part(self.params.part, self.params.stochastic, h);
        let entropy = |part: &[f64]| part.iter().filter(|&&p| p > 1e-8).map(|p| -p * p.ln()).sum();
        let entropy = if self.params.part == Stochastic::StridedSoftmax { entropy(&part) } else { 0.0 };
        (part, entropy)
    }

    /// The whole rollout by its definition, all members step by step.
    fn results(&self) -> RolloutResults<f64> {
        let p = &self.params.gru;
        let [members, batch, steps] = [p.members, p.batch, p.steps].map(|len| len as usize);
        let rows = || (0..members).flat_map(move |member| (0..batch).map(move |row| (member, row)));
        let given = |step: usize| rows().map(move |(member, row)| self.inputs.input_of(member, step, row));
        let mut x: Vec<Vec<f64>> = if steps > 0 { given(0).list() } else { Vec::new() };
        let mut h: Vec<Vec<f64>> = rows().map(|(member, row)| self.inputs.first(member, row)).list();
        let mut trajectory: Vec<Vec<f64>> = self.losses.iter().map(|&loss| vec![f64::from(loss)]).list();
        let mut entropy = vec![0.0; members * batch];
        let mut seen: Vec<Vec<f64>> =
            rows().map(|(member, row)| self.read(member, 0, row, &h[member * batch + row])).list();
        let mut states = vec![0.0; steps * h.concat().len()];
        for step in 0..steps {
            for (i, (member, row)) in rows().enumerate() {
                let [z, _, c, _] = self.inputs.step(member, &x[i], &h[i]);
                h[i].iter_mut().zip(z.iter().zip(&c)).for_each(|(h, (z, c))| *h = (1.0 - z) * *h + z * c);
                seen[i] = self.read(member, step, row, &h[i]);
                let at = ((member * steps + step) * batch + row) * h[i].len();
                states[at..][..h[i].len()].copy_from_slice(&seen[i]);
                let (part, of_step) = self.part(&seen[i]);
                entropy[i] += of_step;
                trajectory[i].push(head_loss(self.params.head, &self.head, &seen[i], &part)[1]);
            }
            let loss = |i: usize| trajectory[i].last().copied().unwrap_or_default();
            for (i, x) in x.iter_mut().enumerate() {
                match self.params.feedback {
                    Feedback::PerMember => x[0] = loss(i),
                    Feedback::EnsembleMean => {
                        let sum: f64 = (0..members).map(|member| loss(member * batch + i % batch)).sum();
                        x[0] = sum / members as f64;
                    }
                    Feedback::None if step + 1 < steps => *x = self.inputs.input_of(i / batch, step + 1, i % batch),
                    Feedback::None => {}
                    Feedback::State => *x = self.mapped(&seen[i]),
                }
            }
        }
        let combined = seen.iter().flat_map(|h| [h.clone(), self.part(h).0].concat()).list();
        RolloutResults { trajectory: trajectory.concat(), last: h.concat(), combined, entropy, states }
    }

    /// With weights of type `T`.
    fn run<T: Real>(&self, q: &Conditioned) -> Result<RolloutResults<f32>, BackendError> {
        let (p, inputs) = (&self.params.gru, &self.inputs);
        let upload = |values: &[f32]| q.upload(&of_type::<T>(values));
        let (w, u, b) = (upload(&inputs.w)?, upload(&inputs.u)?, upload(&inputs.b)?);
        let bu = inputs.bu.as_ref().map(|bu| upload(bu)).transpose()?;
        let (head, x, losses) = (q.upload(&self.head)?, q.upload(&inputs.x)?, q.upload(&self.losses)?);
        let h0 = q.upload(inputs.h0.as_deref().unwrap_or_default())?;
        let rows = (p.members * p.batch) as usize;
        let of = |len: u64| q.alloc::<f32>(rows * len as usize);
        let (mut trajectory, mut last) = (of(p.steps + 1)?, of(p.hidden)?);
        let (mut combined, mut entropy) = (of(p.hidden + self.params.stochastic)?, of(1)?);
        let mut states = of(p.steps * p.hidden)?;
        let pair = |[a, b]: &[Vec<f32>; 2]| Ok::<_, BackendError>([q.upload(a)?, q.upload(b)?]);
        let norm = self.norm.as_ref().map(pair).transpose()?;
        let back = self.back.as_ref().map(pair).transpose()?;
        let bu = bu.as_ref().map(|bu| bu.view());
        q.rssm_rollout(RssmRollout {
            params: &self.params,
            layer: GruLayer { w: w.view(), u: u.view(), b: b.view(), bu },
            head: head.view(),
            gamma: norm.as_ref().map(|[gamma, _]| gamma.view()),
            beta: norm.as_ref().map(|[_, beta]| beta.view()),
            back: back.as_ref().map(|[weights, _]| weights.view()),
            back_bias: back.as_ref().map(|[_, biases]| biases.view()),
            x: x.view(),
            h0: h0.view(),
            losses: losses.view(),
            trajectory: trajectory.view_mut(),
            h_t: last.view_mut(),
            combined: combined.view_mut(),
            entropy: entropy.view_mut(),
            states: Some(states.view_mut()),
        })?;
        Ok(RolloutResults {
            trajectory: q.download(&trajectory)?,
            last: q.download(&last)?,
            combined: q.download(&combined)?,
            entropy: q.download(&entropy)?,
            states: q.download(&states)?,
        })
    }

    /// With weights of type `T`, rounded to it.
    fn hold<T: Real>(&self, q: &Conditioned) -> Result<(), Failure> {
        let of_type = Self { inputs: rounded::<T>(self.inputs.clone()), ..self.clone() };
        let (expected, got) = (of_type.results(), of_type.run::<T>(q)?);
        unless_all_close([
            ("the trajectory", &expected.trajectory, &got.trajectory),
            ("the last state", &expected.last, &got.last),
            ("the combined state", &expected.combined, &got.combined),
            ("the entropy", &expected.entropy, &got.entropy),
            ("the states", &expected.states, &got.states),
        ])
    }
}

pub(super) fn rollout() -> OpSpec {
    let mut cases = Vec::new();
    for sizes in SIZES {
        for feedback in Feedback::ALL {
            let name = format!("{sizes:?}, {feedback:?}");
            let [members, batch, steps, _, hidden, _] = sizes;
            // The default is held everywhere, the rest where there is time for states in number.
            let states =
                if feedback == Feedback::PerMember { 0 } else { (members * batch * steps.max(1) * hidden) as u64 };
            let of_case = |case: Case| case.on_elements(states);
            cases.push(of_case(Case::new(format!("{name}, f16"), move |q| modes::<f16>(q, sizes, feedback))));
            cases.push(of_case(Case::new(format!("{name}, bf16"), move |q| modes::<bf16>(q, sizes, feedback))));
            cases.push(of_case(Case::new(name, move |q| modes::<f32>(q, sizes, feedback))));
        }
    }
    for (sizes, loss) in PUBLISHED {
        let [members, hidden, _, steps] = sizes;
        let case = Case::new(format!("inputs of hybrid-predict-trainer-rs, {sizes:?}"), move |q| {
            published(sizes, loss).hold::<f32>(q)
        });
        cases.push(case.on_elements((members * steps * 2 * hidden) as u64));
    }
    cases.push(Case::new("batches", |q| {
        for (index, batch) in BATCHES.into_iter().enumerate() {
            // Of two large batches after each other, each has half of the feedbacks.
            let skipped = |number: usize| batch > 33 && (index + number) % 2 == 1;
            for feedback in Feedback::ALL.into_iter().enumerate().filter(|f| !skipped(f.0)).map(|f| f.1) {
                let mode = Mode(Stochastic::StridedSoftmax, LossHead::ExpClamped, feedback);
                Rollout::new([2, batch as usize, 2, 3, 5, 2], GruVariant::ResetBefore, mode).hold::<f32>(q)?;
            }
        }
        Ok(())
    }));
    cases.push(Case::new("features of every form", |q| {
        for feedback in Feedback::ALL {
            for form in GruInputs::ALL.into_iter().filter(|form| form.is_constant() || feedback == Feedback::None) {
                let mode = Mode(Stochastic::StridedSoftmax, LossHead::ExpClamped, feedback);
                let mut rollout = Rollout::new([3, 5, 3, 4, 9, 4], GruVariant::ResetBefore, mode);
                rollout.params.gru.inputs = form;
                rollout.inputs.params = rollout.params.gru;
                rollout.inputs.x = values(9, rollout.params.gru.input_shape().iter().product::<u64>() as usize, 1.5);
                rollout.hold::<f32>(q).map_err(|failure| failure.of(&format!("{feedback:?}, {form:?}")))?;
            }
        }
        Ok(())
    }));
    cases.push(Case::new("losses at the ends of their range", |q| {
        let mut rollout = Rollout::new([1, 6, 2, 4, 9, 4], GruVariant::ResetBefore, DEFAULT);
        rollout.head.iter_mut().for_each(|weight| *weight *= 60.0);
        let (expected, got) = (rollout.results(), rollout.run::<f32>(q)?);
        Failure::unless_close(&expected.trajectory, &got.trajectory, 1e-3, 0.0)
    }));
    cases.push(Case::new("changed states in every mode", changes).on_elements(3 * 5 * 3 * 17));
    for feedback in Feedback::ALL {
        let case = Case::new(format!("bits of rows, {feedback:?}"), move |q| bits_of_rows(q, feedback));
        cases.push(if feedback == Feedback::PerMember { case } else { case.on_elements(21 * 4 * 35) });
    }
    cases.push(Case::new("bits of calls", bits_of_calls));
    cases.push(Case::new("what is not a number", not_numbers));
    cases.push(Case::new("refusals", refusals));
    let large = Case::new("five members of 64 features, 256 states and 32 more", |q| {
        Rollout::new([5, 32, 10, 64, 256, 32], GruVariant::ResetBefore, DEFAULT).hold::<f32>(q)
    });
    cases.push(large.on_elements(5 * 32 * 10 * 352));
    OpSpec { op: "recurrent.rssm_rollout", cases }
}

/// Every part and head, and some changes of the states, with weights of type `T`.
fn modes<T: Real>(q: &Conditioned, sizes: [usize; 6], feedback: Feedback) -> Result<(), Failure> {
    for part in PARTS {
        for head in HEADS {
            let mode = Mode(part, head, feedback);
            Rollout::new(sizes, GruVariant::ResetBefore, mode)
                .hold::<T>(q)
                .map_err(|failure| failure.of(&format!("{mode:?}")))?;
        }
    }
    match feedback {
        Feedback::PerMember => {
            changed::<T>(q, sizes, GruVariant::ResetAfter, feedback, (false, false))?;
            changed::<T>(q, sizes, GruVariant::ResetAfter, feedback, (true, true))?;
            changed::<T>(q, sizes, GruVariant::ResetBefore, feedback, (true, false))
        }
        Feedback::EnsembleMean => changed::<T>(q, sizes, GruVariant::ResetAfter, feedback, (false, true)),
        Feedback::None => Ok(()),
        Feedback::State => changed::<T>(q, sizes, GruVariant::ResetAfter, feedback, (true, true)),
    }
}

/// States that are normalised and dropped before they are read, or not.
fn changed<T: Real>(
    q: &Conditioned,
    sizes: [usize; 6],
    variant: GruVariant,
    feedback: Feedback,
    (normalised, dropped): (bool, bool),
) -> Result<(), Failure> {
    let mode = Mode(Stochastic::StridedSoftmax, LossHead::ExpClamped, feedback);
    let rollout = Rollout::new(sizes, variant, mode).changed(normalised, dropped);
    let what = || format!("{variant:?}, {feedback:?}, normalised {normalised}, dropped {dropped}");
    rollout.hold::<T>(q).map_err(|failure| failure.of(&what()))
}

/// Both variants with every feedback, on states that are changed in every way and not at all.
fn changes(q: &Conditioned) -> Result<(), Failure> {
    let ways = || [false, true].into_iter().flat_map(|normalised| [false, true].map(|dropped| (normalised, dropped)));
    for sizes in [[3, 5, 3, 9, 17, 3], [2, 3, 3, 3, 34, 5]] {
        for variant in [GruVariant::ResetBefore, GruVariant::ResetAfter] {
            for (feedback, way) in Feedback::ALL.into_iter().flat_map(|feedback| ways().map(move |way| (feedback, way)))
            {
                changed::<f32>(q, sizes, variant, feedback, way)?;
            }
        }
    }
    Ok(())
}

/// A row alone has the bits that it has among others.
fn bits_of_rows(q: &Conditioned, feedback: Feedback) -> Result<(), Failure> {
    const BATCH: usize = 21;
    let (members, input, hidden, steps) = (2, 5, 35, 4);
    let mode = Mode(Stochastic::StridedSoftmax, LossHead::ExpClamped, feedback);
    let whole = Rollout::new([members, BATCH, steps, input, hidden, 6], GruVariant::ResetBefore, mode);
    let all = whole.run::<f32>(q)?;
    for row in [0, 6, 16, BATCH - 1] {
        let take = |of: &[f32], len: usize| {
            of.chunks(BATCH * len).flat_map(|matrix| matrix[row * len..][..len].to_vec()).list()
        };
        let mut alone = whole.clone();
        alone.params.gru.batch = 1;
        alone.inputs.x = take(&whole.inputs.x, input);
        alone.inputs.h0 = whole.inputs.h0.as_ref().map(|h0| take(h0, hidden));
        alone.losses = take(&whole.losses, 1);
        let got = alone.run::<f32>(q)?;
        Failure::unless_equal(&take(&all.trajectory, steps + 1), &got.trajectory)
            .and_then(|()| Failure::unless_equal(&take(&all.combined, hidden + 6), &got.combined))
            .and_then(|()| Failure::unless_equal(&take(&all.entropy, 1), &got.entropy))
            .map_err(|failure| failure.of(&format!("row {row} alone")))?;
    }
    Ok(())
}

/// Checks that two calls give the bits of one.
///
/// Losses are fed back to each member, or features form a sequence.
fn bits_of_calls(q: &Conditioned) -> Result<(), Failure> {
    let (members, batch, input, hidden, steps) = (2, 21, 5, 35, 4);
    let of = |mode| Rollout::new([members, batch, steps, input, hidden, 6], GruVariant::ResetBefore, mode);
    let whole = of(DEFAULT);
    let mut first = whole.clone();
    first.params.gru.steps = 1;
    let got = first.run::<f32>(q)?;
    let mut second = whole.clone();
    second.params.gru.steps = steps as u64 - 1;
    second.params.gru.inputs = GruInputs::MemberConstants;
    second.losses = got.trajectory.iter().skip(1).step_by(2).copied().list();
    second.inputs.x = whole.inputs.x.repeat(members);
    second.inputs.x.iter_mut().step_by(input).zip(&second.losses).for_each(|(x, &loss)| *x = loss);
    second.inputs.h0 = Some(got.last);
    let all = whole.run::<f32>(q)?;
    let got = second.run::<f32>(q)?.combined;
    Failure::unless_equal(&all.combined, &got).map_err(|failure| failure.of("losses"))?;

    let whole = of(Mode(Stochastic::StridedSoftmax, LossHead::ExpClamped, Feedback::None));
    let (all, mut first, mut second) = (whole.run::<f32>(q)?, whole.clone(), whole.clone());
    let (x, later) = whole.inputs.x.split_at(batch * input);
    (first.params.gru.steps, first.inputs.x) = (1, x.to_vec());
    (second.params.gru.steps, second.inputs.x) = (steps as u64 - 1, later.to_vec());
    second.inputs.h0 = Some(first.run::<f32>(q)?.last);
    let got = second.run::<f32>(q)?.combined;
    Failure::unless_equal(&all.combined, &got).map_err(|failure| failure.of("a sequence"))
}

/// Checks that a row with a NaN feature predicts NaN from then on.
///
/// This holds even if the NaN is the feature that is fed back. Other rows predict as they do
/// without the NaN.
fn not_numbers(q: &Conditioned) -> Result<(), Failure> {
    for feature in [0, 2] {
        let (row, input, steps) = (1, 4, 3);
        let plain = Rollout::new([2, 6, steps, input, 18, 5], GruVariant::ResetBefore, DEFAULT);
        let expected = plain.run::<f32>(q)?;
        let mut rollout = plain.clone();
        rollout.inputs.x[row * input + feature] = f32::NAN;
        let got = rollout.run::<f32>(q)?;
        let rows = expected.trajectory.chunks(steps + 1).zip(got.trajectory.chunks(steps + 1)).enumerate();
        for (at, (expected, got)) in rows {
            if at % 6 != row {
                Failure::unless_equal(expected, got)?;
            } else if got[0] != expected[0] || got[1..].iter().any(|loss| !loss.is_nan()) {
                return Err(Failure::Broken(format!("feature {feature} of row {at} is NaN, and it predicts {got:?}")));
            }
        }
    }
    let mode = Mode(Stochastic::StridedSoftmax, LossHead::ExpClamped, Feedback::None);
    let mut rollout = Rollout::new([1, 1, 3, 4, 18, 5], GruVariant::ResetBefore, mode);
    rollout.inputs.x[4 + 2] = f32::NAN; // of the second step
    let got = rollout.run::<f32>(q)?.trajectory;
    if got[..2].iter().any(|loss| loss.is_nan()) || got[2..].iter().any(|loss| !loss.is_nan()) {
        return Err(Failure::Broken(format!("a feature of the second step is NaN, and the losses are {got:?}")));
    }
    Ok(())
}

fn refusals(q: &Conditioned) -> Result<(), Failure> {
    let plain = Rollout::new([2, 3, 2, 4, 5, 3], GruVariant::ResetBefore, DEFAULT);
    let refused = |what: &str, change: fn(&mut Rollout)| {
        let mut rollout = plain.clone();
        change(&mut rollout);
        Failure::unless_refused(what, rollout.run::<f32>(q).map(drop))
    };
    refused("a map of states that are not fed back", |rollout| {
        rollout.back = Some([vec![0.0; 20], vec![0.0; 4]]);
    })?;
    refused("states that are fed back without a map", |rollout| rollout.params.feedback = Feedback::State)?;
    refused("a sequence of features", |rollout| {
        rollout.params.gru.inputs = GruInputs::Sequence;
        rollout.inputs.x = rollout.inputs.x.repeat(2);
    })?;
    refused("no features", |rollout| {
        rollout.params.gru.input = 0;
        rollout.inputs.x.clear();
        rollout.inputs.w.clear();
    })?;
    refused("a copy of another length", |rollout| rollout.params.part = Stochastic::CopyHidden)?;
    refused("a norm of states without variance", |rollout| {
        rollout.norm = Some([vec![1.0; 5], vec![0.0; 5]]);
    })?;
    refused("biases that do not belong", |rollout| rollout.inputs.bu = Some(vec![0.0; 10]))
}
