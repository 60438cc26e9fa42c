//! Self-contained HTML pages: no script, no network, pictures as inline SVG.

mod chart;

use std::fmt::Write as _;

pub(crate) use chart::{Fan, Series, bars, fan, lines};

/// A page of sections.
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) lead: String,
    pub(crate) sections: Vec<Section>,
}

/// One section: facts, then pictures, then a table.
#[derive(Default)]
pub(crate) struct Section {
    pub(crate) heading: String,
    pub(crate) facts: Vec<(String, String)>,
    pub(crate) pictures: Vec<String>,
    pub(crate) table: Option<Table>,
}

/// A table; every row has as many cells as the head.
pub(crate) struct Table {
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}\
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem;border-bottom:1px solid #ddd}\
table{border-collapse:collapse;margin:.8rem 0}td,th{padding:.15rem .9rem .15rem 0;text-align:left;vertical-align:top}\
th{font-weight:600;border-bottom:1px solid #bbb}svg{max-width:100%;height:auto}td:first-child{color:#555}";

impl Page {
    /// The page as HTML.
    pub(crate) fn to_html(&self) -> String {
        let mut html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title><style>{STYLE}</style></head>\n\
             <body><h1>{0}</h1><p>{1}</p>\n",
            escape(&self.title),
            escape(&self.lead)
        );
        for section in &self.sections {
            let _ = writeln!(html, "<h2>{}</h2>", escape(&section.heading));
            if !section.facts.is_empty() {
                let row = |(name, value): &(String, String)| vec![name.clone(), value.clone()];
                html.push_str(&table(&[], &section.facts.iter().map(row).collect::<Vec<_>>()));
            }
            for picture in &section.pictures {
                let _ = writeln!(html, "<p>{picture}</p>");
            }
            if let Some(Table { head, rows }) = &section.table {
                html.push_str(&table(head, rows));
            }
        }
        html.push_str("</body></html>\n");
        html
    }
}

fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String], tag: &str| {
        let cells: String = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let head = if head.is_empty() { String::new() } else { line(head, "th") };
    let body: String = rows.iter().map(|row| line(row, "td")).collect();
    format!("<table>\n{head}{body}</table>\n")
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
            sections: vec![Section {
                heading: "bars".into(),
                facts: vec![("k".into(), "<v>".into())],
                pictures: vec![bars("time", "ms", &[("x".into(), 1.0), ("y".into(), 2.0)]).unwrap()],
                table: Some(Table { head: vec!["h".into()], rows: vec![vec!["c".into()]] }),
            }],
        };
        let html = page.to_html();
        assert!(html.contains("a &lt; b") && html.contains("&lt;v&gt;") && html.contains("<svg"));
        assert!(!html.contains("src=") && !html.contains("href=") && !html.contains("<script"));
    }
}
