//! A comparison in Markdown, for a pull request.

use super::{Contrast, words};
use crate::markdown::escape;
use crate::units::Letters;

/// The comparison as Markdown: findings, figures, what is not alike. Texts cannot become markup.
pub fn markdown(contrast: &Contrast) -> String {
    let letters = Letters::Unicode;
    let titles = [&contrast.old, &contrast.new].map(|side| escape(&side.typical().facts.title));
    let mut out = format!("### {} / {}\n\n", titles[0], titles[1]);
    for finding in super::findings(contrast, letters) {
        let name = escape(&finding.name.to_uppercase());
        out += &format!("**{name}**: {}\n\n", escape(&finding.text));
    }
    out += &words::table(&contrast.comparison, letters).markdown();
    out += &format!("\n{}\n", escape(&words::meaning(&contrast.comparison)));
    if contrast.differences.is_empty() {
        return out;
    }
    out += "\n<details><summary>Not alike</summary>\n\n";
    for found in &contrast.differences {
        let [what, old, new] = [&found.what, &found.old, &found.new].map(|text| escape(text));
        out += &format!("- {what}: {old} / {new}\n");
    }
    out + "\n</details>\n"
}
