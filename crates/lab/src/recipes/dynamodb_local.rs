//! DynamoDB Local, Amazon's stand-in for its service, from Maven's jars.

use crate::card::{Card, Need, Port, RecipeOption, Version};
use crate::error::LabError;
use crate::package_cache::{Kit, PackageCache};
use crate::recipe::Recipe;
use crate::site::{Launch, Site};

/// One process with SQLite behind DynamoDB's interface.
pub struct DynamoDbLocal;

const JAVA: u32 = 17;
const SECONDS_TO_START: u32 = 60;
const JDK: &str = "apt-get install openjdk-17-jdk-headless";

/// Starts the server on one address: by itself it takes every one of the machine, and has no option
/// for another. Java compiles this as it starts.
const LAUNCHER: &str = r#"
import com.amazonaws.services.dynamodbv2.local.main.ServerRunner;
import com.amazonaws.services.dynamodbv2.local.server.DynamoDBProxyServer;
import java.util.Arrays;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

public class Launcher {
    public static void main(String[] words) throws Exception {
        String[] rest = Arrays.copyOfRange(words, 1, words.length);
        DynamoDBProxyServer proxy = ServerRunner.createServerFromCommandLineArgs(rest);
        var field = DynamoDBProxyServer.class.getDeclaredField("server");
        field.setAccessible(true);
        Server server = (Server) field.get(proxy);
        ((ServerConnector) server.getConnectors()[0]).setHost(words[0]);
        proxy.start();
        proxy.join();
    }
}
"#;

const DISK: &str = "disk";
const STORAGE: RecipeOption = RecipeOption::choice("storage", &["memory", DISK], "memory")
    .about("what an acknowledged write survives: memory nothing, disk the end of the process");
const HEAP: RecipeOption =
    RecipeOption::text("heap", "512m").about("memory for Java's objects, as 512m");

impl Recipe for DynamoDbLocal {
    fn card(&self) -> Card {
        Card {
            name: "dynamodb-local",
            summary: "DynamoDB Local: a stand-in that tells nothing of how fast DynamoDB is",
            versions: &[Version { name: "2.6.1", source: "Maven's com.amazonaws:DynamoDBLocal" }],
            ports: &[Port { name: "client", number: 8000 }],
            options: &[STORAGE, HEAP],
            needs: const {
                &[Need::by_hand("javac", JDK), Need::by_hand("mvn", "apt-get install maven")]
            },
            memory_mib: 300,
            disk_mib: 10,
            ..Card::ALONE
        }
    }

    fn fetch(&self, version: &str, package_cache: &PackageCache<'_>) -> Result<Kit, LabError> {
        let java = package_cache.java(JAVA)?;
        // Java alone does not compile.
        package_cache.need("javac", JDK)?;
        let artifact = format!("com.amazonaws:DynamoDBLocal:{version}");
        let jars = package_cache.maven("dynamodb-local", version, &[&artifact])?;
        Ok(Kit::new(version).with("java", java).with("jars", jars))
    }

    fn restart(&self, site: &mut Site<'_>, node: usize) -> Result<(), LabError> {
        let launcher = site.write(node, "Launcher.java", LAUNCHER)?;
        let jars = site.program("jars").display().to_string();
        let mut launch = Launch::new("server", site.program("java"))
            .args([format!("-Xmx{}", site.option(&HEAP)), "-XX:+UseSerialGC".into()])
            .args([format!("-Dsqlite4java.library.path={jars}")])
            .args(["-cp".into(), format!("{jars}/*"), launcher.display().to_string()])
            .args([site.address(node), "-port".into(), site.port("client").to_string()])
            // It would tell its maker that it was started.
            .args(["-disableTelemetry", "-sharedDb"]);
        launch = match site.option(&STORAGE) {
            DISK => launch.args(["-dbPath".into(), site.folder(node).display().to_string()]),
            _ => launch.args(["-inMemory"]),
        };
        site.launch(node, launch)?;
        site.wait_for_port(node, "client", SECONDS_TO_START)
    }

    fn url(&self, site: &Site<'_>) -> String {
        format!("dynamodb://{}/", site.authority(1, "client"))
    }
}
