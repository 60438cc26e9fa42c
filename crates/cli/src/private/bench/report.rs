//! The measurements of a bench, next to the plan.

use core::iter::Sum;
use std::fmt::Write as _;

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets};
use inference::{
    cost::{GateCost, ModelCost, Work},
    party::Measured,
};
use runtime::Choice;
use serde::Serialize;

use super::{clock::Activities, parties::PartyRun};

/// A run of both parties and its plan.
#[derive(Serialize)]
pub(super) struct BenchReport<'a> {
    model: &'a str,
    backend: &'static str,
    /// Layers of the whole model that cost as much as this run; 1 for a whole model.
    layers: u32,
    /// AES blocks that the walks of a party compute in a second.
    walk_rate: f64,
    /// The most bytes of keys in memory, of party 0 and party 1.
    key_memory_bytes: [u64; 2],
    steps: Vec<StepReport<'a>>,
    /// The sums over all steps, of party 0 and party 1.
    total: [Measurement; 2],
    /// The plan of the run.
    planned: PlannedCost,
}

/// One step of a run.
#[derive(Serialize)]
struct StepReport<'a> {
    step: &'a str,
    /// The measurements of party 0 and party 1.
    parties: [Measurement; 2],
    planned: PlannedCost,
    /// The gates of the step; none if the ranges leave nothing to do.
    gates: Vec<GateReport<'a>>,
}

/// The plan of one gate in a step.
#[derive(Serialize)]
struct GateReport<'a> {
    gate: &'a str,
    elements: u64,
    planned: PlannedCost,
}

/// What one party measured.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Measurement {
    /// Wall time in seconds.
    seconds: f64,
    /// Seconds in each activity. The rest is arithmetic on the host.
    activities: Activities,
    sent_bytes: u64,
    rounds: u64,
    /// 1 - wall time / time of all activities; `None` without activities.
    ///
    /// It is negative if the host does other work for longer than activities overlap.
    overlap: Option<f64>,
}

/// Costs that follow from a plan.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct PlannedCost {
    /// The time of the AES blocks alone, at the rate of walks.
    walk_seconds: f64,
    aes_blocks: u64,
    /// Bytes that party 0 and party 1 send.
    sent_bytes: [u64; 2],
    rounds: u64,
}

impl<'a> BenchReport<'a> {
    /// The report of a run of the model whose cost is `cost`.
    pub(super) fn new(
        cost: &'a ModelCost,
        backend: Choice,
        layers: u32,
        walk_rate: f64,
        runs: &'a [PartyRun; 2],
    ) -> Self {
        // Each step with its gates.
        let all: Vec<&'a GateCost> = cost.layers.iter().flat_map(|layer| &layer.gates).collect();
        let report = |step: &'a str| {
            let of_step: Vec<&'a GateCost> = all.iter().copied().filter(|gate| gate.step == step).collect();
            let work = of_step.iter().fold(Work::default(), |sum, gate| sum.plus(gate.work));
            let gates = of_step.into_iter().map(|gate| GateReport::new(gate, walk_rate)).collect();
            StepReport { step, parties: of_both(runs, step), planned: PlannedCost::new(&work, walk_rate), gates }
        };
        let mut names: Vec<&str> = Vec::new();
        for (Measured { step, .. }, _) in &runs[0].steps {
            if !names.contains(&step.as_str()) {
                names.push(step);
            }
        }
        let steps: Vec<StepReport<'a>> = names.into_iter().map(report).collect();
        // The sums.
        let total = [0, 1].map(|party| steps.iter().map(|step| step.parties[party]).sum::<Measurement>());
        let key_memory_bytes = runs.each_ref().map(|run| run.key_memory_bytes);
        let planned = PlannedCost::new(&cost.total(), walk_rate);
        let backend = backend.name();
        Self { model: &cost.title, backend, layers, walk_rate, key_memory_bytes, steps, total, planned }
    }

    /// The client's measurements as a table of steps and gates, or their sums alone.
    pub(super) fn text(&self, by_layer: bool) -> Result<String> {
        // The table: measurements, then the plan.
        let mut text = format!("{} on {}, {:.1} M AES blocks/s\n", self.model, self.backend, self.walk_rate / 1e6);
        let head = [
            "step",
            "ms",
            "PFSS",
            "products",
            "copies",
            "exchange",
            "overlap",
            "sent, B",
            "rounds",
            "ideal ms",
            "planned B",
            "planned rounds",
        ];
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(head);
        for StepReport { step, parties, planned, gates } in self.steps.iter().filter(|_| by_layer) {
            table.add_row(row(step, &parties[0], planned));
            for GateReport { gate, elements, planned } in gates {
                let blank = [const { String::new() }; 8];
                table.add_row([format!("  {gate} x {elements}")].into_iter().chain(blank).chain(planned.cells()));
            }
        }
        table.add_row(row("all steps", &self.total[0], &self.planned));
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        writeln!(text, "\n{table}\n")?;

        // The whole model, and the memory of keys.
        if self.layers > 1 {
            let seconds = f64::from(self.layers) * self.total[0].seconds;
            writeln!(text, "{} such layers take {seconds:.3} s", self.layers)?;
        }
        let [zero, one] = self.key_memory_bytes;
        writeln!(text, "party 0 had {zero} bytes of keys in memory, party 1 {one}")?;
        Ok(text)
    }
}

impl<'a> GateReport<'a> {
    fn new(GateCost { gate, elements, work, .. }: &'a GateCost, walk_rate: f64) -> Self {
        Self { gate, elements: *elements, planned: PlannedCost::new(work, walk_rate) }
    }
}

impl Measurement {
    fn new((step, activities): &(Measured, Activities)) -> Self {
        let Measured { seconds, sent_bytes, rounds, .. } = *step;
        Self { seconds, activities: *activities, sent_bytes, rounds, overlap: None }.with_overlap()
    }

    fn with_overlap(self) -> Self {
        let work = self.activities.sum();
        Self { overlap: (work > 0.0).then(|| 1.0 - self.seconds / work), ..self }
    }
}

impl Sum for Measurement {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        let add = |sum: Self, each: Self| Self {
            seconds: sum.seconds + each.seconds,
            activities: sum.activities.plus(each.activities),
            sent_bytes: sum.sent_bytes + each.sent_bytes,
            rounds: sum.rounds + each.rounds,
            overlap: None,
        };
        all.fold(Self::default(), add).with_overlap()
    }
}

impl PlannedCost {
    fn new(work: &Work, walk_rate: f64) -> Self {
        let Work { sent_bytes, rounds, aes_blocks, .. } = *work;
        Self { walk_seconds: aes_blocks as f64 / walk_rate, aes_blocks, sent_bytes, rounds }
    }

    /// The last columns of a row.
    fn cells(&self) -> [String; 3] {
        [format!("{:.3}", 1e3 * self.walk_seconds), self.sent_bytes[0].to_string(), self.rounds.to_string()]
    }
}

/// The measurements of both parties in all steps of this name.
fn of_both(runs: &[PartyRun; 2], name: &str) -> [Measurement; 2] {
    runs.each_ref().map(|run| run.steps.iter().filter(|(step, _)| step.step == name).map(Measurement::new).sum())
}

/// The row of a step.
fn row(name: &str, measured: &Measurement, planned: &PlannedCost) -> Vec<String> {
    let Measurement { seconds, activities, sent_bytes, rounds, overlap } = measured;
    let times = [*seconds, activities.pfss(), activities.products, activities.copies, activities.exchange];
    let overlap = overlap.map_or_else(String::new, |overlap| format!("{overlap:.2}"));
    let first = [name.to_owned()].into_iter().chain(times.map(|seconds| format!("{:.3}", 1e3 * seconds)));
    first.chain([overlap, sent_bytes.to_string(), rounds.to_string()]).chain(planned.cells()).collect()
}
