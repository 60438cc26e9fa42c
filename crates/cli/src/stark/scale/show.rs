//! The model as tables and a picture.

use std::fmt::Write as _;

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets};

use super::model::{DeviceLink, RankWork, ScalingModel};
use crate::report::{self, Page, ReportSection, Series, lines};

/// Measured work and the model of its times; the first entry is one device's.
pub(super) struct Shown<'a> {
    pub(super) works: &'a [RankWork],
    pub(super) links: &'a [DeviceLink],
    pub(super) model: ScalingModel,
}

/// Facts that describe the numbers.
pub(super) fn facts(
    statement: String,
    device: String,
    measured_log_rows: u32,
    log_more_rows: u32,
    model: &ScalingModel,
) -> Vec<(&'static str, String)> {
    let compute = match log_more_rows {
        0 => "measured on one device, with mirrors of it as the other ranks".to_owned(),
        more => format!(
            "measured on 2^{measured_log_rows} rows of one device, with mirrors of it as the other ranks, times {}",
            1u64 << more
        ),
    };
    let mut facts = vec![
        ("statement", statement),
        ("computed on", device),
        ("compute", compute),
        ("bytes", "counted where a rank sends them".to_owned()),
        (
            "times and speed-ups",
            "modelled: compute and the bytes on a link by turns, nothing on several devices measured".to_owned(),
        ),
    ];
    if model.faster != 1.0 {
        facts.push(("devices", format!("{} times as fast as the measured one", model.faster)));
    }
    if model.latency > 0.0 {
        facts.push(("an exchange", format!("{} us in addition to its bytes", model.latency * 1e6)));
    }
    facts
}

impl Shown<'_> {
    /// Head and rows of the modelled times.
    fn times(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let mut head = ["devices", "compute, ms", "sends each other, MB", "exchanges"].map(str::to_owned).to_vec();
        for DeviceLink { name, rate } in self.links {
            head.push(format!("on {name} ({} GB/s), ms", rate / 1e9));
            head.push("speed-up".to_owned());
        }
        let rows = self.works.iter().map(|work| {
            let mut row = vec![
                work.ranks.to_string(),
                milliseconds(work.compute() / self.model.faster),
                megabytes(work.bytes_to_each()),
                work.calls().to_string(),
            ];
            for link in self.links {
                row.push(milliseconds(self.model.time(work, link)));
                row.push(format!("{:.2}", self.model.speed_up(&self.works[0], work, link)));
            }
            row
        });
        (head, rows.collect())
    }

    /// Head and rows of the table of compute and bytes by stage.
    fn stages(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let mut head = vec!["stage".to_owned()];
        for RankWork { ranks, .. } in self.works {
            head.push(format!("{ranks}: ms"));
            if *ranks > 1 {
                head.push("MB".to_owned());
            }
        }
        let rows = self.works[0].stages.iter().enumerate().map(|(index, stage)| {
            let mut row = vec![stage.name.clone()];
            for RankWork { ranks, stages } in self.works {
                row.push(milliseconds(stages[index].compute / self.model.faster));
                if *ranks > 1 {
                    row.push(megabytes(stages[index].bytes_to_each));
                }
            }
            row
        });
        (head, rows.collect())
    }

    pub(super) fn text(&self, facts: &[(&'static str, String)]) -> String {
        let mut text = report::listed(facts, 22);
        let titles = ["Modelled time of a proof", "What a rank computes, and sends each other one, by devices"];
        for (title, (head, rows)) in titles.into_iter().zip([self.times(), self.stages()]) {
            let mut table = Table::new();
            table.load_style(presets::NOTHING).set_header(head).add_rows(rows);
            for column in table.column_iter_mut().skip(1) {
                column.set_cell_alignment(CellAlignment::Right);
            }
            let _ = writeln!(text, "\n{title}\n{table}");
        }
        text
    }

    pub(super) fn page(&self, facts: &[(&'static str, String)]) -> Result<Page> {
        let devices = |work: &RankWork| f64::from(work.ranks);
        let series = |name: &str, y: &dyn Fn(&RankWork) -> f64| Series {
            name: name.to_owned(),
            points: self.works.iter().map(|work| (devices(work), y(work))).collect(),
        };
        let one = &self.works[0];
        let mut speed_ups = vec![series("as many as devices", &devices)];
        for link in self.links {
            speed_ups.push(series(&link.name, &|work| self.model.speed_up(one, work, link)));
        }
        let section = |heading: &str, (head, rows)| ReportSection {
            heading: heading.to_owned(),
            table: Some(report::ReportTable { head, rows }),
            ..ReportSection::default()
        };
        let facts = facts.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let picture = lines("modelled speed-up", "devices", "times as fast as one", &speed_ups)?;
        let times =
            ReportSection { facts, pictures: vec![picture], ..section("Modelled time of a proof", self.times()) };
        Ok(Page {
            title: "Trefoil: a proof on several devices, modelled".to_owned(),
            lead:
                "Compute is measured on one device and bytes are counted; times and speed-ups are modelled from them."
                    .to_owned(),
            sections: vec![times, section("What a rank computes, and sends each other one, by devices", self.stages())],
        })
    }
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.1}", seconds * 1e3)
}

fn megabytes(bytes: f64) -> String {
    format!("{:.3}", bytes / 1e6)
}

#[cfg(test)]
mod tests {
    use super::{super::model::StageWork, *};

    #[test]
    fn tables_say_what_is_modelled() {
        let stage = |compute, bytes_to_each, calls| StageWork { name: "FRI".to_owned(), compute, bytes_to_each, calls };
        let works = [(1, stage(0.4, 0.0, 0.0)), (2, stage(0.2, 5.5e6, 3.0))]
            .map(|(ranks, stage)| RankWork { ranks, stages: vec![stage] });
        let links = [DeviceLink { name: "slow".to_owned(), rate: 55e6 }];
        let model = ScalingModel { faster: 2.0, latency: 0.0 };
        let shown = Shown { works: &works, links: &links, model };
        let facts = facts("a statement".to_owned(), "a device".to_owned(), 8, 2, &model);
        let text = shown.text(&facts);
        // 0.1 s of work and 0.1 s on the link, as long as one device.
        for words in [
            "modelled",
            "measured on 2^8 rows",
            "times 4",
            "2 times as fast",
            "100.0",
            "5.500",
            "200.0",
            "1.00",
            "slow (0.055 GB/s)",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        let html = shown.page(&facts).unwrap().to_html();
        assert!(html.contains("<svg") && html.contains("modelled speed-up"));
    }
}
