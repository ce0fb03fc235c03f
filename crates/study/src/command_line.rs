//! Command line of the program: settings with their names, and which values are secret.

/// A setting of commands.
#[derive(Clone, Debug)]
pub struct CommandSetting {
    /// The flag without dashes.
    pub name: &'static str,
    /// Whether it is a flag without a value.
    pub is_switch: bool,
    /// Whether its value is the name of a file.
    pub is_file: bool,
    /// The commands that take it: `load`, `run`, `bench`.
    pub verbs: Vec<&'static str>,
}

/// Settings of commands with their names, and which of their values are secret.
pub struct CommandLine {
    /// All settings.
    pub settings: Vec<CommandSetting>,
    /// The present name of a setting, whatever name it was given by.
    pub current: fn(&str) -> &str,
    /// Refuses settings of one place of which one is given by both its names.
    pub require_one_name: fn(&str, &[&str]) -> Result<(), String>,
    /// A setting's value in a file as the flag's.
    pub text_of: fn(toml::Value) -> String,
    /// A URL without secrets.
    pub url_without_secrets: fn(&str) -> String,
    /// A word of a command without secrets.
    pub word_without_secrets: fn(&str) -> String,
    /// Whether the value of this name is a secret.
    pub names_a_secret: fn(&str) -> bool,
}

impl CommandLine {
    /// The present name of a setting, whatever name it was given by.
    pub fn current<'a>(&self, name: &'a str) -> &'a str {
        (self.current)(name)
    }

    /// A setting's value in a file as the flag's.
    pub fn text_of(&self, value: &toml::Value) -> String {
        (self.text_of)(value.clone())
    }

    /// A URL without secrets.
    pub fn url_without_secrets(&self, url: &str) -> String {
        (self.url_without_secrets)(url)
    }

    /// A word of a command without secrets.
    pub fn word_without_secrets(&self, word: &str) -> String {
        (self.word_without_secrets)(word)
    }

    /// Whether the value of this name is a secret.
    pub fn names_a_secret(&self, name: &str) -> bool {
        (self.names_a_secret)(name)
    }

    /// The settings that command `verb` takes.
    pub fn settings_of<'a>(&'a self, verb: &'a str) -> impl Iterator<Item = &'a CommandSetting> {
        self.settings.iter().filter(move |setting| setting.verbs.contains(&verb))
    }

    /// The setting of command `verb` that is called `name`.
    pub fn setting(&self, verb: &str, name: &str) -> Option<&CommandSetting> {
        let name = self.current(name);
        let is_it = |setting: &&CommandSetting| setting.verbs.contains(&verb);
        self.settings.iter().find(|setting| setting.name == name).filter(is_it)
    }

    /// The words of a text without secrets.
    pub fn text_without_secrets(&self, text: &str) -> String {
        let words = text.split_whitespace().map(|word| self.word_without_secrets(word));
        words.collect::<Vec<_>>().join(" ")
    }

    /// The value of a flag without secrets.
    pub fn display(&self, flag: &str, value: &str) -> String {
        if flag == "url-options" {
            // They are a URL's end.
            let whole = self.url_without_secrets(&format!("?{value}"));
            return whole.trim_start_matches('?').to_owned();
        }
        self.word_without_secrets(value)
    }

    /// The words of a command without secrets.
    pub fn without_secrets(&self, words: &[String]) -> Vec<String> {
        let flags = [""].into_iter().chain(words.iter().map(|word| word.trim_start_matches('-')));
        flags.zip(words).map(|(flag, word)| self.display(flag, word)).collect()
    }
}
