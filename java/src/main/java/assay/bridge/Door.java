package assay.bridge;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Modifier;
import java.net.JarURLConnection;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.net.URLConnection;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.StringJoiner;

/**
 * Entry point of the native side: finds the class of a binding on a class path of its own.
 *
 * <p>The virtual machine's own class path holds nothing but this archive; each store has a class loader, so two stores
 * in one process may have different class paths. Everything slow, such as reflection, happens here, once.
 */
public final class Door {
  private static final String DB = "site/ycsb/DB.class";
  private static final String POM = "META-INF/maven/site.ycsb/core/pom.properties";

  static {
    // The program's standard output is its result.
    System.setOut(System.err);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> System.err.println(
        "the binding ended the whole process with System.exit; `assay history repair` seals what the run has kept")));
  }

  private Door() {}

  /**
   * Opens a store.
   *
   * @param told the binding's class, the number of class path entries, the entries, then names and values of
   *     properties; all of them separated by zeros
   * @return a failure, or the empty string, and the store
   */
  public static Object[] open(String told) {
    try {
      return new Object[] {"", open(new ArrayList<>(Arrays.asList(told.split("\0", -1))))};
    } catch (Failure failure) {
      return new Object[] {failure.told(), null};
    } catch (Throwable thrown) {
      return new Object[] {Failure.failed(Failure.describe(thrown)).told(), null};
    }
  }

  private static Object open(List<String> words) throws Exception {
    String name = words.remove(0);
    int entries = Integer.parseInt(words.remove(0));
    List<URL> path = new ArrayList<>();
    for (int entry = 0; entry < entries; entry++) {
      path.add(new File(words.remove(0)).toURI().toURL());
    }
    Properties properties = new Properties();
    for (int at = 0; at + 1 < words.size(); at += 2) {
      properties.setProperty(words.get(at), words.get(at + 1));
    }
    // Chronicle Map compiles classes while it runs, and looks here for those that they need.
    StringJoiner shown = new StringJoiner(File.pathSeparator);
    for (URL entry : path) {
      shown.add(new File(entry.toURI()).getPath());
    }
    System.setProperty("java.class.path", shown.toString());
    URLClassLoader loader =
        new URLClassLoader("binding", path.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
    Set<String> places = places(loader, DB);
    if (places.isEmpty()) {
      throw Failure.unsupported("its class path has no site.ycsb.DB; add YCSB's core, for example core-0.17.0.jar");
    }
    refuseTwo("YCSB", places);
    Class<?> type = load(loader, name);
    refuseTwo(name, places(loader, name.replace('.', '/') + ".class"));
    check(loader, type);
    // The store's class is loaded again, by the loader that also has YCSB.
    Class<?> store = Class.forName("assay.bridge.Store", true, loader);
    String version = version(loader) + " in " + places.iterator().next();
    return store.getConstructor(Class.class, Properties.class, String.class).newInstance(type, properties, version);
  }

  private static Class<?> load(ClassLoader loader, String name) throws Failure {
    try {
      return Class.forName(name, true, loader);
    } catch (ClassNotFoundException missing) {
      throw Failure.unsupported("there is no class " + name + " on its class path; "
          + "check the spelling (package included) and add the archive that has it to classpath=");
    } catch (NoClassDefFoundError missing) {
      throw Failure.unsupported("class " + name + " needs " + String.valueOf(missing.getMessage()).replace('/', '.')
          + ", which is not on its class path; add the archive that has it to classpath=");
    } catch (UnsupportedClassVersionError newer) {
      throw Failure.unsupported("class " + name + " is made for a newer Java: " + newer.getMessage());
    } catch (LinkageError broken) {
      throw Failure.unsupported("class " + name + " cannot be loaded: " + Failure.describe(broken));
    }
  }

  private static void check(ClassLoader loader, Class<?> type) throws Failure, ClassNotFoundException {
    String name = type.getName();
    for (Class<?> above = type; above != null; above = above.getSuperclass()) {
      if (above.getName().equals("com.yahoo.ycsb.DB")) {
        throw Failure.unsupported(
            "class " + name + " is a binding of YCSB 0.14 or older (com.yahoo.ycsb.DB); take one of 0.15 or later");
      }
    }
    if (!Class.forName("site.ycsb.DB", true, loader).isAssignableFrom(type)) {
      throw Failure.unsupported("class " + name + " is no binding: it does not extend site.ycsb.DB");
    }
    if (Modifier.isAbstract(type.getModifiers())) {
      throw Failure.unsupported("class " + name + " is abstract; name a class that extends it");
    }
    try {
      type.getConstructor();
    } catch (NoSuchMethodException missing) {
      throw Failure.unsupported("class " + name + " has no public constructor without arguments, as bindings have");
    } catch (NoClassDefFoundError missing) {
      throw Failure.unsupported("class " + name + " needs " + String.valueOf(missing.getMessage()).replace('/', '.')
          + ", which is not on its class path; add the archive that has it to classpath=");
    }
  }

  /** The same class twice is two versions of the same software, one of which would win by chance. */
  private static void refuseTwo(String what, Set<String> places) throws Failure {
    if (places.size() > 1) {
      throw Failure.contents("its class path has " + what + " twice: in " + String.join(" and in ", places)
          + "; take one of them off");
    }
  }

  /** The archives or folders that have a resource. */
  private static Set<String> places(ClassLoader loader, String resource) throws IOException {
    Set<String> places = new LinkedHashSet<>();
    for (URL url : Collections.list(loader.getResources(resource))) {
      URLConnection connection = url.openConnection();
      if (connection instanceof JarURLConnection archive) {
        places.add(new File(URI.create(archive.getJarFileURL().toString())).getPath());
      } else {
        String path = url.getPath();
        places.add(path.substring(0, path.length() - resource.length()));
      }
    }
    return places;
  }

  private static String version(ClassLoader loader) throws IOException {
    try (InputStream stream = loader.getResourceAsStream(POM)) {
      Properties pom = new Properties();
      if (stream != null) {
        pom.load(stream);
      }
      return pom.getProperty("version", "of an unknown version");
    }
  }
}
