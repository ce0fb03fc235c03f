package assay.bridge;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import site.ycsb.DB;

/**
 * A binding as a store: its class, its properties, and its tables.
 *
 * <p>Methods that may fail return a failure as one string, or the empty string.
 */
public final class Store {
  private static final Set<String> NO_OPS = Set.of("site.ycsb.BasicDB", "site.ycsb.BasicTSDB", "site.ycsb.GoodBadUglyDB");

  private final Class<?> type;
  private final Properties properties;
  private final String ycsb;
  /** Classes of exceptions that have been shown: the first of each says enough. */
  private final Set<String> shown = ConcurrentHashMap.newKeySet();
  private Tended tended;
  private String[] tables = {};
  private String[][] fields = {};

  /** A store of class {@code type}; {@code ycsb} says which YCSB is on the class path. */
  public Store(Class<?> type, Properties properties, String ycsb) throws ReflectiveOperationException {
    this.type = type;
    this.properties = properties;
    this.ycsb = ycsb;
    properties.putIfAbsent("db", type.getName());
    if (Tended.class.isAssignableFrom(type)) {
      DB instance = fresh();
      instance.setProperties(properties);
      tended = (Tended) instance;
    }
    measure();
  }

  /** What the native side has to know before the first operation: names and values, one pair a line. */
  public String traits() {
    StringBuilder lines = new StringBuilder();
    if (keepsNothing()) {
      lines.append("no_op=true\n");
      lines.append("inline=").append(isFast()).append('\n');
    }
    if (tended != null) {
      lines.append("tended=true\n");
      tended.traits().forEach((name, value) -> lines.append(name).append('=').append(value).append('\n'));
    }
    return lines.toString();
  }

  /**
   * Makes the tables ready.
   *
   * @param told the number of records, then for each table its name, the number of its fields, and their names; all of
   *     them separated by zeros
   */
  public String prepare(String told) {
    List<String> words = new ArrayList<>(Arrays.asList(told.split("\0", -1)));
    String records = words.remove(0);
    List<String> names = new ArrayList<>();
    List<String[]> columns = new ArrayList<>();
    while (!words.isEmpty()) {
      names.add(words.remove(0));
      int count = Integer.parseInt(words.remove(0));
      columns.add(words.subList(0, count).toArray(new String[0]));
      words.subList(0, count).clear();
    }
    tables = names.toArray(new String[0]);
    fields = columns.toArray(new String[0][]);
    // As YCSB's client has them, from its workload; what was given explicitly stays.
    properties.putIfAbsent("recordcount", records);
    properties.putIfAbsent("table", tables[0]);
    properties.putIfAbsent("fieldcount", String.valueOf(fields[0].length));
    return tend(tended -> tended.prepare(names));
  }

  /** An instance for the thread that calls, initialised. */
  public Lane open() {
    Thread.currentThread().setContextClassLoader(type.getClassLoader());
    return Lane.open(this);
  }

  /** Removes everything. */
  public String clear() {
    if (tended == null) {
      return keepsNothing() ? "" : Failure.unsupported("a YCSB binding has no way to empty its store; empty "
          + "it by the store's own means (drop the table or the keyspace), then load again; in a study give it "
          + "volatile = true with ?persistent=false").told();
    }
    return tend(Tended::clear);
  }

  /** The note, preceded by {@code +}; {@code -} if there is none; else a failure. */
  public String note() {
    if (tended == null) {
      return "-";
    }
    String[] note = {null};
    String failure = tend(tended -> note[0] = tended.note());
    if (!failure.isEmpty()) {
      return failure;
    }
    return note[0] == null ? "-" : "+" + note[0];
  }

  /** Keeps a note, where the binding has a place for it. */
  public String keepNote(String note) {
    return tend(tended -> tended.keepNote(note));
  }

  /** Names, values, meanings of settings after a {@code +}, all of them followed by a zero; else a failure. */
  public String settings() {
    StringBuilder told = new StringBuilder("+");
    setting(told, "binding", type.getName(), "the YCSB binding that is asked, through Java");
    setting(told, "ycsb", ycsb, "whose classes the binding extends");
    setting(told, "java", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"),
        "runs within this process: its compiler and its collector take time from the same processors");
    List<String> collectors = new ArrayList<>();
    for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      collectors.add(collector.getName());
    }
    setting(told, "java collectors", String.join(", ", collectors),
        "a pause of theirs stops every lane that is within Java; it shows in the latencies");
    setting(told, "java heap", (Runtime.getRuntime().maxMemory() >> 20) + " MiB at most", "for all objects of Java");
    if (tended == null) {
      setting(told, "durability", keepsNothing() ? "none" : "unknown", keepsNothing()
          ? "nothing is kept"
          : "a YCSB binding cannot tell what an answered write survives; look at the store's own configuration");
    }
    String failure = tend(tended -> {
      for (Map.Entry<String, String[]> setting : tended.settings().entrySet()) {
        setting(told, setting.getKey(), setting.getValue()[0], setting.getValue()[1]);
      }
    });
    return failure.isEmpty() ? told.toString() : failure;
  }

  /** Closes what is open. */
  public String close() {
    return tend(Tended::close);
  }

  DB fresh() throws ReflectiveOperationException {
    return (DB) type.getConstructor().newInstance();
  }

  Properties properties() {
    return properties;
  }

  String[] tables() {
    return tables;
  }

  String[][] fields() {
    return fields;
  }

  /** Whether a read that is done without fields has still found something: where nothing is kept, nobody can tell. */
  boolean keepsNothing() {
    for (Class<?> above = type; above != null; above = above.getSuperclass()) {
      if (NO_OPS.contains(above.getName())) {
        return true;
      }
    }
    return false;
  }

  /** Prints an exception, once for each class of them. */
  void show(String what, Throwable thrown) {
    if (shown.add(what + thrown.getClass().getName())) {
      System.err.println(type.getName() + "." + what + " has thrown (shown once, counted each time):");
      thrown.printStackTrace();
    }
  }

  private boolean isFast() {
    boolean sleeps = !"0".equals(properties.getProperty("basicdb.simulatedelay", "0"));
    for (Class<?> above = type; above != null; above = above.getSuperclass()) {
      if (above.getName().equals("site.ycsb.GoodBadUglyDB")) {
        return false;
      }
    }
    return !sleeps;
  }

  /** YCSB's client does this before it makes instances, and some bindings measure something of their own. */
  private void measure() {
    try {
      Class<?> measurements = Class.forName("site.ycsb.measurements.Measurements", true, type.getClassLoader());
      measurements.getMethod("setProperties", Properties.class).invoke(null, properties);
    } catch (ReflectiveOperationException | LinkageError missing) {
      // Then no binding on this class path can use it either.
    }
  }

  private static void setting(StringBuilder told, String name, String value, String meaning) {
    told.append(name).append('\0').append(value).append('\0').append(meaning).append('\0');
  }

  /** An action on a store that can be managed. */
  private interface Act {
    void on(Tended tended) throws Exception;
  }

  private String tend(Act act) {
    if (tended == null) {
      return "";
    }
    Thread.currentThread().setContextClassLoader(type.getClassLoader());
    try {
      act.on(tended);
      return "";
    } catch (Misconfigured wrong) {
      return Failure.unsupported(wrong.getMessage()).told();
    } catch (Throwable thrown) {
      return Failure.failed(Failure.describe(thrown)).told();
    }
  }
}
