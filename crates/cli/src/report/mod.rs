//! Self-contained HTML pages.
//!
//! No script, no network, pictures as inline SVG and HTML; for wide and narrow screens, light and
//! dark.

mod chart;

use std::{fmt::Write as _, fs, iter::repeat};

pub(crate) use chart::{Fan, Series, bars, bars_beside_peers, fan, lines};

/// Facts for a terminal, a line each: the name, `width` characters wide, and the value.
pub(crate) fn listed(facts: &[(impl std::fmt::Display, String)], width: usize) -> String {
    facts.iter().map(|(name, value)| format!("{name:<width$} {value}\n")).collect()
}

/// A page of sections.
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) lead: String,
    pub(crate) sections: Vec<ReportSection>,
}

/// One section: facts, then pictures, then a table.
#[derive(Default)]
pub(crate) struct ReportSection {
    pub(crate) heading: String,
    pub(crate) facts: Vec<(String, String)>,
    pub(crate) pictures: Vec<String>,
    pub(crate) table: Option<ReportTable>,
}

/// A table; every row has one cell for each column of the head.
pub(crate) struct ReportTable {
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

const STYLE: &str = "\
:root{color-scheme:light dark;--text:#222;--soft:#555;--line:#ccc;--page:#fff;--ours:#4285cd;--peer:#d97720}\
@media(prefers-color-scheme:dark){:root{--text:#e6e6e6;--soft:#aaa;--line:#444;--page:#161616}}\
*{box-sizing:border-box}\
body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:var(--text);\
background:var(--page);overflow-wrap:anywhere}\
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem;border-bottom:1px solid var(--line)}\
figure{margin:1.2rem 0}figcaption{font-weight:600}svg{display:block;color:var(--soft)}svg.narrow{display:none}\
.names,.axis{margin:.2rem 0;font-size:14px}.names span{margin-right:1rem;white-space:nowrap}\
.names i{display:inline-block;width:1rem;height:.25rem;margin-right:.4rem;vertical-align:middle}\
.axis{color:var(--soft)}.end{text-align:right;max-width:760px}\
.bars{display:grid;grid-template-columns:minmax(8rem,16rem) 1fr max-content;gap:.3rem .8rem;align-items:center;margin:.4rem 0}\
.bars i{display:block;height:1.1rem;min-width:1px;background:var(--ours)}.bars .peer i{background:var(--peer)}\
table{border-collapse:collapse;margin:.8rem 0}td,th{padding:.15rem .9rem .15rem 0;text-align:left;vertical-align:top}\
th{font-weight:600;border-bottom:1px solid var(--line)}td:first-child{color:var(--soft)}\
footer{margin-top:3rem;padding-top:.5rem;border-top:1px solid var(--line);color:var(--soft);font-size:13px}\
@media(max-width:50rem){svg.room{display:none}svg.narrow{display:block}.end{max-width:310px}\
.bars{grid-template-columns:1fr max-content}.bars span:nth-child(3n+1){grid-column:1/-1;margin-bottom:-.3rem}\
tr{display:block;margin-bottom:.6rem}th{display:none}td{display:block;padding:0}\
td[data-head]:not(:empty)::before{content:attr(data-head) ': ';color:var(--soft)}}";

impl Page {
    /// The page as HTML.
    pub(crate) fn to_html(&self) -> String {
        let mut html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <title>{0}</title><style>{STYLE}</style></head>\n<body><h1>{0}</h1><p>{1}</p>\n",
            escape(&self.title),
            escape(&self.lead)
        );
        for section in &self.sections {
            let _ = writeln!(html, "<h2>{}</h2>", escape(&section.heading));
            if !section.facts.is_empty() {
                let row = |(name, value): &(String, String)| vec![name.clone(), value.clone()];
                html.push_str(&table(&[], &section.facts.iter().map(row).collect::<Vec<_>>()));
            }
            section.pictures.iter().for_each(|picture| html.push_str(picture));
            if let Some(ReportTable { head, rows }) = &section.table {
                html.push_str(&table(head, rows));
            }
        }
        let _ = writeln!(html, "<footer>{}</footer></body></html>", escape(&made_by()));
        html
    }
}

/// Version, commit, machine and command.
fn made_by() -> String {
    let commit = include_str!(concat!(env!("OUT_DIR"), "/commit"));
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let command = ["trefoil".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ");
    format!("Trefoil {}, built at commit {commit}; {}; {command}", env!("CARGO_PKG_VERSION"), machine())
}

/// The processor's name, where the system reports it.
pub(crate) fn machine() -> String {
    let told = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let value = |key: &str| {
        told.lines()
            .find(|line| line.starts_with(key))
            .and_then(|line| line.split(':').nth(1))
            .map(|v| v.trim().to_owned())
    };
    match (value("model name"), value("cpu family"), value("model\t")) {
        (Some(name), Some(family), Some(model)) => format!("{name} (family {family}, model {model})"),
        (Some(name), ..) => name,
        _ => std::env::consts::ARCH.to_owned(),
    }
}

/// A table.
///
/// On narrow screens the cells of a row stand below each other, each after the head of its column.
fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let mut html = "<table>\n".to_owned();
    if !head.is_empty() {
        let cells: String = head.iter().map(|cell| format!("<th>{}</th>", escape(cell))).collect();
        let _ = writeln!(html, "<tr>{cells}</tr>");
    }
    for row in rows {
        let heads = head.iter().map(|head| format!(" data-head=\"{}\"", escape(head)));
        let cells = row.iter().zip(heads.chain(repeat(String::new())));
        let cells: String = cells.map(|(cell, head)| format!("<td{head}>{}</td>", escape(cell))).collect();
        let _ = writeln!(html, "<tr>{cells}</tr>");
    }
    html.push_str("</table>\n");
    html
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_the_page_needs_nothing_from_outside() {
        let page = Page {
            title: "a < b".into(),
            lead: "lead".into(),
            sections: vec![ReportSection {
                heading: "bars".into(),
                facts: vec![("k".into(), "<v>".into())],
                pictures: vec![bars("time", "ms", &[("x".into(), 1.0), ("y".into(), 2.0)])],
                table: Some(ReportTable { head: vec!["h".into()], rows: vec![vec!["c".into()]] }),
            }],
        };
        let html = page.to_html();
        assert!(html.contains("a &lt; b") && html.contains("&lt;v&gt;") && html.contains("<figure>"));
        let footer = &html[html.find("<footer>").unwrap()..];
        assert!(footer.contains("commit ") && footer.contains("; trefoil"), "{footer}");
        assert!(!html.contains("src=") && !html.contains("href=") && !html.contains("<script"));
    }
}
